/**
 * claim-next: claims the first ready task of a queue for a worker (protocol.md §5). The claim is an entry like any other,
 * and the fold decides who came first: of two replicas that choose the same task, one goes on to the next task.
 */
import { z } from 'zod';
import {
  claimedBy,
  claimNextMessageId,
  firstReady,
  idSchema,
  isReady,
  queueFor,
  type TaskView,
  viewTask,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { newId } from '../nats/id.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import { checkId, parseInput } from './parse-input.ts';

/** `request`: the same one again gets the same task. */
export const claimNextSchema = z.object({ queue: idSchema.optional(), request: idSchema.optional() });
/** The task that was claimed, or `task: null`: none waits. */
export type ClaimedNext = TaskView | { readonly task: null };
export type ClaimNext = (worker: string, body: unknown) => Promise<ClaimedNext>;

/** Each time another replica was first: with so many of them in a row, the queue is worked off without us. */
const triesMax = 64;

export function createClaimNext(host: Host, log: EventLog): ClaimNext {
  const { fleet } = host;
  /** Tasks that other requests to this replica are about to claim. */
  const taken = new Set<string>();
  return async (worker, body) => {
    checkId('worker', worker);
    const { queue, request = newId() } = parseInput(claimNextSchema, body ?? {});
    for (let tries = 1; tries <= triesMax; tries += 1) {
      await host.caughtUp();
      const claimed = claimedBy(fleet, worker, request, host.logNow());
      if (claimed !== null) return viewTask(fleet, claimed) as TaskView;
      throwIfOut(host, worker);
      const task = firstReady(fleet, queue ?? queueFor(fleet, worker), taken);
      if (task === null) return { task: null };
      taken.add(task);
      try {
        const made = await claim(host, log, { worker, request, task, tries });
        if (made !== null) return viewTask(fleet, made) ?? { task: null };
      } finally {
        taken.delete(task);
      }
    }
    throw new AppError('service.busy', `${triesMax} tasks of the queue were claimed by others first; try again`);
  };
}

type Claim = { readonly worker: string; readonly request: string; readonly task: string; readonly tries: number };

/**
 * @returns the task that the worker has by this request; null: somebody else was first
 * @throws AppError entry.refused: the worker may not have it, though it waits
 */
async function claim(host: Host, log: EventLog, { worker, request, task, tries }: Claim): Promise<string | null> {
  const { fleet } = host;
  const subject = `stopgate.${fleet.name}.worker.${worker}.task.claimed`;
  const messageId = claimNextMessageId(worker, request, tries);
  const { seq, duplicate } = await log.append(subject, JSON.stringify({ task, request }), { messageId });
  await host.foldedTo(seq);
  const claimed = claimedBy(fleet, worker, request, host.logNow());
  if (claimed !== null) return claimed;
  // An earlier claim of this request has the id: it lost a race, or its task was let go of long ago. The next id is free.
  if (duplicate) return null;
  const refused = fleet.workers.read(worker)?.snapshot.context.worker.refused.find((it) => it.seq === seq);
  if (isReady(fleet, task)) throw new AppError('entry.refused', refused?.reason ?? `task ${task} could not be claimed`);
  return null;
}

function throwIfOut({ fleet }: Host, worker: string): void {
  const ended = fleet.workers.read(worker)?.snapshot.context.worker.ended ?? null;
  if (ended !== null) throw new AppError('entry.refused', `worker ${worker} is ${ended}`);
}
