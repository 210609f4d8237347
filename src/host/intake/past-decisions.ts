/**
 * Finds the decision of an attempt that is over: on its way to the log, in the log, or, once retention has removed its
 * entry, in the fold, which has the last decision of each worker.
 */
import { type Decision, type Fleet, readJson } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import type { Outbox } from '../fold/outbox.ts';
import { subject } from '../own-entries.ts';
import { type BarrierParts, catchUp } from './read-barrier.ts';

export type PastDecisions = {
  /**
   * `seq`: where its `decision` entry stands; null: nobody knows. `removed`: retention has removed it, and the worker has
   * made later attempts. `unreadable`: it cannot be read now. @throws AppError log.lost, log.unavailable
   */
  find(worker: string, attempt: string, seq: number | null): Promise<Decision | 'removed' | 'unreadable'>;
  /**
   * The decision by which a task was completed.
   * @throws AppError actor.unknown: it was not, or its decision is removed; log.unavailable, log.lost
   */
  completion(task: string): Promise<Decision>;
};

export type PastDecisionsOptions = BarrierParts & {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly log: Pick<EventLog, 'fetch' | 'range'>;
  readonly outbox: Pick<Outbox, 'find'>;
  readonly logger: Logger;
};

export function createPastDecisions(options: PastDecisionsOptions): PastDecisions {
  const { fleet, replica, log, outbox, logger } = options;
  const find: PastDecisions['find'] = async (worker, attempt, seq) => {
    const unpublished = outbox.find(worker, attempt);
    if (unpublished !== null) return unpublished;
    if (seq === null) return 'unreadable';
    const stored = await readStored(options, worker, attempt, seq);
    if (stored !== null) return stored;
    // This may no longer be the log that was folded.
    await catchUp(options);
    if (seq >= (await log.range()).firstSeq) {
      logger.warn({ workerId: worker, attempt, seq }, 'there is no decision where it was stored');
      return 'unreadable';
    }
    const last = fleet.workers.get(worker)?.snapshot.context.worker.lastDecision ?? null;
    return last?.attempt === attempt ? { ...last, replica } : 'removed';
  };
  return {
    find,
    async completion(task) {
      const judged = fleet.tasks.get(task)?.judged ?? null;
      if (judged === null) throw new AppError('actor.unknown', `no decision completed task ${task}`);
      const { worker, attempt, seq } = judged;
      const decision = await find(worker, attempt, seq);
      if (typeof decision === 'object') return decision;
      const what = `the decision that completed task ${task} (attempt ${attempt} of worker ${worker})`;
      if (decision === 'removed') throw new AppError('actor.unknown', `retention has removed ${what} from the log`);
      throw new AppError('log.unavailable', `${what} cannot be read from the log now`);
    },
  };
}

/** Returns null if no decision of that attempt stands there, or it cannot be read. */
async function readStored(
  options: PastDecisionsOptions,
  worker: string,
  attempt: string,
  seq: number,
): Promise<Decision | null> {
  const text = await options.log.fetch(seq, subject(options, `decision.${worker}`));
  const read = text === null ? null : readJson(text);
  if (!read?.ok) return null;
  const decision = read.value as Decision;
  // `seq` of a decision is its attempt's, which stands before it.
  const isMeant = decision.worker === worker && decision.attempt === attempt && (decision.seq ?? seq) < seq;
  return isMeant ? decision : null;
}
