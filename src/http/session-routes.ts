/** `/api/<fleet>/session`: signs a browser in and out. The session has the rights of its token. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { parseInput } from '../service/parse-input.ts';
import { checkFleet, open } from './access.ts';
import { findCaller, type HttpAdmission, refuseAnonymous, sessionCookie } from './admission.ts';
import { noBody } from './route-schemas.ts';

const tokenSchema = z.object({ token: z.string().trim().min(1).max(1_000) });

export function addSessionRoutes(api: FastifyInstance, admission: HttpAdmission): void {
  api.post<{ Params: { fleet: string } }>(
    '/session',
    {
      config: { access: { role: 'read', workers: 'all', fleets: 'own' } },
      schema: {
        tags: ['operator'],
        summary: 'Signs in with a token: sets a cookie',
        body: tokenSchema,
        response: { 204: noBody('the cookie is set') },
      },
    },
    async ({ params, body, headers }, reply) => {
      const { token } = parseInput(tokenSchema, body);
      const given = { authorization: `Bearer ${token}` };
      const caller = findCaller(given, admission);
      refuseAnonymous(caller, given, admission);
      checkFleet(caller, params.fleet);
      return reply
        .code(204)
        .header('set-cookie', sessionCookie(headers, token, admission))
        .send();
    },
  );
  api.delete(
    '/session',
    {
      // Works without a valid token, so that a cookie of a revoked token can be removed.
      config: { access: open },
      schema: { tags: ['operator'], summary: 'Signs out', response: { 204: noBody('the cookie is gone') } },
    },
    async ({ headers }, reply) =>
      reply
        .code(204)
        .header('set-cookie', sessionCookie(headers, null, admission))
        .send(),
  );
}
