/** The agents' hook endpoint: one call translated into entries, which are stored in order, and maybe into a question. */
import type { FastifyInstance } from 'fastify';
import { isId } from '../../machines/index.ts';
import { agents, createHookCallHandler, type HookCall, type ReadHook, toId } from '../agents/index.ts';
import { AppError } from '../errors.ts';
import type { Service } from '../service/service.ts';
import { isUndecided } from '../service/until-resolved.ts';

/** For so long a question for a person's word is held; then whoever asks is to ask again. */
const wakeHoldMs = 50_000;

type WakeRoute = { Params: { agent: string }; Querystring: { worker?: unknown } };
type Route = { Params: { agent: string }; Querystring: { event?: unknown; policy?: unknown } };

export function addHookRoutes(app: FastifyInstance, service: Service): void {
  const answer = createHookCallHandler(service);
  app.post<Route>('/hooks/:agent', async ({ params, query, body }, reply) => {
    const event = typeof query.event === 'string' ? query.event : undefined;
    const told = await answer(underPolicy(readerOf(params.agent)(body ?? {}, event), query.policy));
    return told === null ? reply.code(204).send() : told;
  });
  addWake(app, service);
}

/**
 * What a person has said to a session's escalation, for who can prompt the session: held while its stop is judged, and
 * until he has said it. 204: not yet, ask again; a prompt of null: it waits for nobody.
 */
function addWake(app: FastifyInstance, service: Service): void {
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  app.get<WakeRoute>('/hooks/:agent/wake', async ({ params, query }, reply) => {
    readerOf(params.agent);
    if (typeof query.worker !== 'string' || query.worker === '')
      throw new AppError('input.bad', 'say whose resolution is asked for: ?worker=<session>');
    const left = new AbortController();
    reply.raw.once('close', () => left.abort());
    const signal = AbortSignal.any([closing.signal, left.signal, AbortSignal.timeout(wakeHoldMs)]);
    const view = await service.untilResolved(toId(query.worker), signal);
    if (isUndecided(view)) return reply.code(204).send();
    return { prompt: view.resolution?.verdict === 'resume' ? view.resolution.prompt : null };
  });
}

function readerOf(agent: string): ReadHook {
  const read = agents.get(agent)?.readHook;
  if (read !== undefined) return read;
  throw new AppError(
    'actor.unknown',
    `no adapter for the agent '${agent}'; these are: ${[...agents.keys()].join(', ')}`,
  );
}

/** `?policy=P`, which `stopgate init --policy` writes into the address: what the worker names when it is registered. */
function underPolicy(call: HookCall, policy: unknown): HookCall {
  if (policy === undefined) return call;
  if (typeof policy !== 'string' || !isId(policy))
    throw new AppError('input.bad', `?policy=${String(policy)} is no name of a policy`);
  return {
    ...call,
    translate(known) {
      const translation = call.translate(known);
      const entries = translation.entries.map((entry) =>
        entry.type === 'worker.registered' ? { ...entry, data: { policy, ...entry.data } } : entry,
      );
      return { ...translation, entries };
    },
  };
}
