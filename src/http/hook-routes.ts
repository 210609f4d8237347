/** The agents' hook endpoint: one call translated into entries, which are stored in order, and maybe into a stop. */
import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Decision } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { agents, type HookCall, type KnownWorker, knownFrom, type ReadHook, unknownWorker } from '../hooks/index.ts';
import { createLanes, type Lanes } from '../lanes.ts';
import type { Service } from '../service/service.ts';

export function addHookRoutes(app: FastifyInstance, service: Service): void {
  const lanes = createLanes();
  app.post<{ Params: { agent: string } }>('/hooks/:agent', async ({ params, body }, reply) => {
    const answer = await answerCall(service, lanes, readerOf(params.agent)(body ?? {}));
    return answer === null ? reply.code(204).send() : answer;
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

/**
 * A worker's calls pass one after the other, since agents send some at once and a plan's changes have an order. A stop
 * is only put in there, not waited for: it may be held for minutes, and a prompt must be able to end it.
 * @throws AppError what the service throws; agents take any error for "go on"
 */
async function answerCall(service: Service, lanes: Lanes, call: HookCall): Promise<object | null> {
  const { asked } = await lanes(call.worker, async () => {
    const { worker, entries, stop } = call.translate(await lookUp(service, call.worker));
    for (const entry of entries) await service.publish(entry);
    if (stop === null) return { asked: null };
    // In an object, for a promise given back by itself would be waited for here.
    return { asked: ask(service, worker, { attempt: randomUUID(), ...stop }) };
  });
  if (asked === null) return null;
  const answer = await asked;
  if (answer instanceof Error) throw answer;
  return call.answer(answer);
}

/** An error as a value: it may come before anybody waits for it. */
async function ask(service: Service, worker: string, body: object): Promise<Decision | Error> {
  try {
    return await service.decide(worker, body);
  } catch (error) {
    return error as Error;
  }
}

async function lookUp(service: Service, worker: string): Promise<KnownWorker> {
  try {
    const view = await service.get('worker', worker);
    return 'worker' in view && 'presence' in view ? knownFrom(view) : unknownWorker;
  } catch (error) {
    if (error instanceof AppError && error.code === 'actor.unknown') return unknownWorker;
    throw error;
  }
}
