/** `/api/<fleet>/operator/<word>`: an operator's actions, from the inspector or another client. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { type OperatorAction, operatorActions } from '../service/operate.ts';
import { callerOf, checkSubject, fleetInPath, withCallerName } from './access.ts';
import { anyObject, errorSchema, oneOf } from './route-schemas.ts';

export function addOperatorRoutes(api: FastifyInstance): void {
  api.post<{ Params: { word: string } }>(
    '/operator/:word',
    {
      config: { access: { role: 'operator', workers: 'own', fleets: 'own' } },
      schema: {
        tags: ['operator'],
        summary: 'Acknowledges, resolves, answers, retires, pauses or unpauses',
        params: z.object({ word: oneOf(Object.keys(operatorActions)) }),
        body: z.union(Object.values(operatorActions)),
        response: { 200: z.looseObject({ seq: z.int(), view: anyObject }), 404: errorSchema, 409: errorSchema },
      },
    },
    async (request) => {
      const { params, body } = request;
      const caller = callerOf(request);
      checkSubject(caller, body);
      if (!Object.hasOwn(operatorActions, params.word))
        throw new AppError(
          'actor.unknown',
          `'${params.word}' must be one of ${Object.keys(operatorActions).join(', ')}`,
        );
      return fleetInPath(request).service.operate(params.word as OperatorAction, withCallerName(caller, body));
    },
  );
}
