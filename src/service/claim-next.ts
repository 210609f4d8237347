/**
 * claim-next: claims the first ready task of a queue for a worker (protocol.md §5). The claim is an ordinary entry, and
 * the fold decides which claim was first. If two replicas choose the same task, one of them tries the next task.
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

/** A repeat with the same `request` gets the same task. */
export const claimNextSchema = z.object({ queue: idSchema.optional(), request: idSchema.optional() });
/** The claimed task, or `task: null` if none is ready. */
export type ClaimedNext = TaskView | { readonly task: null };
export type ClaimNext = (worker: string, body: unknown) => Promise<ClaimedNext>;

/** Maximum number of lost races. After that many, other workers are emptying the queue anyway. */
const triesMax = 64;

export function createClaimNext(host: Host, log: EventLog): ClaimNext {
  const { fleet } = host;
  /** Tasks that other requests to this replica are claiming right now. */
  const taken = new Set<string>();
  return async (worker, body) => {
    checkId('worker', worker);
    const { queue, request = newId() } = parseInput(claimNextSchema, body ?? {});
    for (let tries = 1; tries <= triesMax; tries += 1) {
      await host.caughtUp();
      const claimed = claimedBy(fleet, worker, request, host.logNow());
      if (claimed !== null) return viewTask(fleet, claimed) as TaskView;
      throwIfEnded(host, worker);
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
    throw new AppError('service.busy', `others claimed ${triesMax} tasks of the queue first; try again`);
  };
}

type Claim = { readonly worker: string; readonly request: string; readonly task: string; readonly tries: number };

/**
 * @returns the task that the worker holds through this request, or null if somebody else was first
 * @throws AppError entry.refused if the worker may not claim the task although it is ready
 */
async function claim(host: Host, log: EventLog, { worker, request, task, tries }: Claim): Promise<string | null> {
  const { fleet } = host;
  const subject = `stopgate.${fleet.name}.worker.${worker}.task.claimed`;
  const messageId = claimNextMessageId(worker, request, tries);
  const { seq, duplicate } = await log.append(subject, JSON.stringify({ task, request }), { messageId });
  await host.foldedTo(seq);
  const claimed = claimedBy(fleet, worker, request, host.logNow());
  if (claimed !== null) return claimed;
  // An earlier claim of this request used the id; it lost a race, or its task was released long ago. Try the next id.
  if (duplicate) return null;
  const refused = fleet.workers.read(worker)?.snapshot.context.worker.refused.find((entry) => entry.seq === seq);
  if (isReady(fleet, task)) throw new AppError('entry.refused', refused?.reason ?? `task ${task} could not be claimed`);
  return null;
}

function throwIfEnded({ fleet }: Host, worker: string): void {
  const ended = fleet.workers.read(worker)?.snapshot.context.worker.ended ?? null;
  if (ended !== null) throw new AppError('entry.refused', `worker ${worker} is ${ended}`);
}
