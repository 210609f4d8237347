/**
 * Repeated attempts (protocol.md §2 and §5). An agent that got no answer asks again with the same attempt id, and
 * nothing is judged or counted twice. How a repeat is recognised depends on the progress of the first one:
 *
 * | the first one is | the repeat comes | recognised by |
 * | --- | --- | --- |
 * | sent, not folded here | to this replica or another | its message id: the stream stores one entry (`messageIdFor`) |
 * | sent or open | to this replica | the key of its waiters: one decision answers both (`waiters.ts`) |
 * | folded, however long ago | as a request | the attempts that the fold knows (`isKnown`): nothing is stored |
 * | folded, and NATS has forgotten its message id | as an entry | the fold, with the outcome `repeated` (`onRepeated`)
 * |
 *
 * A repeat of an open attempt waits for its decision. A repeat of a finished one gets the stored decision
 * (`past-decisions.ts`). An attempt without an id cannot be repeated before its answer names it `seq-<seq>`.
 */
import {
  attemptMessageId,
  type Decision,
  decisionSeqOf,
  type Fleet,
  isKnownAttempt,
  unnamedAttemptMessageId,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Bus } from '../../nats/bus.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import { encodeDecision } from '../fold/decision-bytes.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { PastDecisions } from './past-decisions.ts';
import type { ReplyInboxes } from './reply-inboxes.ts';
import type { Waiter, Waiters } from './waiters.ts';

export type RepeatedAttempts = {
  /** Returns the message id of an attempt's entry. For an attempt without an id it is unguessable. */
  messageIdFor(worker: string, attempt: string | undefined): string;
  /** Whether the fold has seen an attempt with that id, open or decided. */
  isKnown(worker: string, attempt: string | undefined): attempt is string;
  /**
   * Finishes a request for a known attempt with its decision.
   * @throws AppError log.unavailable if the decision cannot be read now, entry.refused if it is removed; log.lost
   */
  answer(worker: string, attempt: string, waiter: Waiter<Decision>): Promise<void>;
  /** Called for an entry that repeats a known attempt: answers its inbox, too. Never rejects. */
  onRepeated(entry: LogMessage, worker: string, attempt: string): Promise<void>;
};

export type RepeatedAttemptsOptions = {
  readonly fleet: Fleet;
  readonly newId: () => string;
  readonly lifecycle: Pick<Lifecycle, 'isAtHead'>;
  readonly bus: Pick<Bus, 'reply'>;
  readonly waiters: Pick<Waiters<Decision>, 'waitForAnswer'>;
  readonly replyInboxes: Pick<ReplyInboxes, 'add'>;
  readonly pastDecisions: Pick<PastDecisions, 'find'>;
};

export function createRepeatedAttempts(options: RepeatedAttemptsOptions): RepeatedAttempts {
  const { fleet, newId, lifecycle, bus, waiters, replyInboxes, pastDecisions } = options;
  const knownOf = (worker: string) => fleet.workers.get(worker)?.known ?? null;
  const isOpen = (worker: string, attempt: string): boolean =>
    fleet.workers.get(worker)?.snapshot.context.worker.attempt?.attempt === attempt;
  const findDecision = async (worker: string, attempt: string): Promise<Decision> => {
    const found = await pastDecisions.find(worker, attempt, decisionSeqOf(knownOf(worker), attempt));
    if (typeof found === 'object') return found;
    if (found === 'unreadable')
      throw new AppError('log.unavailable', `the decision of attempt ${attempt} cannot be read from the log now`);
    const why = 'it was decided, and retention has removed its decision from the log';
    throw new AppError('entry.refused', `attempt ${attempt} of worker ${worker} is over: ${why}; ask under a new id`);
  };
  return {
    messageIdFor: (worker, attempt) =>
      attempt === undefined ? unnamedAttemptMessageId(worker, newId()) : attemptMessageId(worker, attempt),
    isKnown: (worker, attempt): attempt is string => attempt !== undefined && isKnownAttempt(knownOf(worker), attempt),
    async answer(worker, attempt, waiter) {
      if (isOpen(worker, attempt)) waiters.waitForAnswer(attemptMessageId(worker, attempt), waiter);
      else waiter.finish(await findDecision(worker, attempt));
    },
    async onRepeated(entry, worker, attempt) {
      const inbox = entry.header('Stopgate-Reply');
      if (inbox === undefined) return;
      if (isOpen(worker, attempt)) {
        replyInboxes.add(attemptMessageId(worker, attempt), inbox);
        return;
      }
      if (!lifecycle.isAtHead()) return;
      // On an error the caller gets no answer. If it then sends a `decide` request, that returns the error.
      const decision = await findDecision(worker, attempt).catch(() => null);
      if (decision !== null) bus.reply(inbox, encodeDecision(decision));
    },
  };
}
