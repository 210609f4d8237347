/**
 * Finds the decision of a finished attempt: in the outbox, in the log, or, after retention has removed its entry, in
 * the fold, which keeps the last decision of each worker.
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
   * `seq` is the sequence number of its `decision` entry, or null if unknown. `removed`: retention has removed the
   * entry, and the worker has made later attempts. `unreadable`: the entry cannot be read now.
   * @throws AppError log.lost or log.unavailable
   */
  find(worker: string, attempt: string, seq: number | null): Promise<Decision | 'removed' | 'unreadable'>;
  /**
   * Finds the decision that completed a task.
   * @throws AppError actor.unknown if no decision did or retention has removed it; log.unavailable or log.lost
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
    // Throws if this is no longer the log that was folded.
    await catchUp(options);
    if (seq >= (await log.range()).firstSeq) {
      logger.warn({ workerId: worker, attempt, seq }, 'the decision is missing at its sequence number');
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

/** Returns null if the entry cannot be read or is not the decision of that attempt. */
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
  // The `seq` inside a decision is that of its attempt, which precedes it in the log.
  const isMeant = decision.worker === worker && decision.attempt === attempt && (decision.seq ?? seq) < seq;
  return isMeant ? decision : null;
}
