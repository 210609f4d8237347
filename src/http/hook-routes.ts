/** The agents' hook endpoint: one call translated into entries, which are stored in order, and maybe into a question. */
import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { agents, type ReadHook } from '../hooks/index.ts';
import type { Service } from '../service/service.ts';
import { createHookDesk } from './hook-desk.ts';

type Route = { Params: { agent: string }; Querystring: { event?: unknown } };

export function addHookRoutes(app: FastifyInstance, service: Service): void {
  const answer = createHookDesk(service);
  app.post<Route>('/hooks/:agent', async ({ params, query, body }, reply) => {
    const event = typeof query.event === 'string' ? query.event : undefined;
    const told = await answer(readerOf(params.agent)(body ?? {}, event));
    return told === null ? reply.code(204).send() : told;
  });
}

function readerOf(agent: string): ReadHook {
  const read = agents.get(agent);
  if (read !== undefined) return read;
  throw new AppError(
    'actor.unknown',
    `no adapter for the agent '${agent}'; these are: ${[...agents.keys()].join(', ')}`,
  );
}
