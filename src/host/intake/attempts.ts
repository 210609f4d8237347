/**
 * Turns requests for a decision into `stop.attempted` entries and waits until the entry comes back and is decided. A
 * request for an attempt that the fold already knows stores nothing (`repeated-attempts.ts`).
 */
import {
  attemptIdFault,
  attemptMessageId,
  type Decision,
  type Fleet,
  retriedMessageId,
  unnamedAttemptMessageId,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { Stored } from '../../nats/log/log-submitter.ts';
import type { Outbox } from '../fold/outbox.ts';
import { subject } from '../own-entries.ts';
import type { AttemptTraces } from './attempt-traces.ts';
import { OpenRequest, type Reply } from './open-request.ts';
import { type BarrierParts, catchUp, catchUpInTime } from './read-barrier.ts';
import type { RepeatedAttempts } from './repeated-attempts.ts';
import type { ReplyInboxes } from './reply-inboxes.ts';
import type { Waiters } from './waiters.ts';
import type { WriteGate } from './write-gate.ts';

/** `payload` is the body of the entry, as JSON. */
export type AttemptRequest = { readonly attempt?: string | undefined; readonly payload: string };

/** A request that waits for its decision. */
export type Attempt = {
  /** Releases its slot, trace and waiter, and replies. Only the first call has an effect. */
  finish(answer: Decision | Error): void;
};

export type Attempts = {
  /**
   * Appends an attempt, or finds the one with that id. `reply` gets its decision, or an AppError: input.bad,
   * log.unavailable, log.lost, service.busy or entry.refused.
   * @throws AppError service.busy if no slot is free; log.unavailable or log.lost
   */
  open(worker: string, request: AttemptRequest, reply: Reply<Decision>): Attempt;
  /** Called when its entry is folded, unless it is a repeat. `isDecided`: `onDecided` follows in the same turn. */
  onStored(message: LogMessage, worker: string, attempt: string, isDecided: boolean): void;
  /** Called when the fold refuses its entry because the fleet is full. */
  onRefused(message: LogMessage, worker: string, attempt: string, reason: string): void;
  /** Called with the decision. `entry` is the attempt's own entry if that was decided at once, otherwise null. */
  onDecided(decision: Decision, entry: LogMessage | null): void;
  /** Finishes all requests for that attempt with this error. */
  fail(worker: string, attempt: string, error: AppError): void;
};

export type AttemptsOptions = BarrierParts & {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly newId: () => string;
  readonly log: Pick<EventLog, 'submit'>;
  readonly gate: WriteGate;
  readonly outbox: Pick<Outbox, 'throwIfFull'>;
  readonly traces: AttemptTraces;
  /** By message id until the entry is folded, then by `attemptMessageId`. */
  readonly waiters: Waiters<Decision>;
  readonly replyInboxes: Pick<ReplyInboxes, 'add'>;
  readonly repeatedAttempts: RepeatedAttempts;
};

type OpenAttempt = OpenRequest<Decision>;

export function createAttempts(options: AttemptsOptions): Attempts {
  const { fleet, replica, bus, gate, outbox, traces, waiters, replyInboxes, repeatedAttempts } = options;
  const append = (open: OpenAttempt, payload: string) => {
    outbox.throwIfFull();
    waiters.waitForEntry(open.key, open);
    submit(options, open, payload, open.key);
  };
  /** The slow path: reconnects or catches up first, and answers repeats. @throws AppError */
  const prepare = async (open: OpenAttempt, { attempt, payload }: AttemptRequest) => {
    if (!bus.isConnected()) await gate.reconnected();
    const fault = attemptIdFault(attempt);
    // An id of the form seq-<n> is valid only for a known attempt. Another replica may have assigned it a moment ago.
    if (fault !== null) await catchUpInTime(options);
    if (!open.isOpen) return; // evicted in the meantime
    if (repeatedAttempts.isKnown(open.actor, attempt)) {
      await repeatedAttempts.answer(open.actor, attempt, open);
      return;
    }
    if (fault !== null) throw new AppError('input.bad', fault);
    append(open, payload);
  };
  return {
    open(worker, request, reply) {
      const { attempt, payload } = request;
      const open = new OpenRequest(options, worker, repeatedAttempts.messageIdFor(worker, attempt), reply);
      const isNew = attemptIdFault(attempt) === null && !repeatedAttempts.isKnown(worker, attempt);
      if (!isNew || !bus.isConnected()) {
        prepare(open, request).catch((error: Error) => open.finish(error));
        return open;
      }
      // Fast path: publish in the request's turn, answer in the turn that folds the decision. No promises in between.
      try {
        append(open, payload);
      } catch (error) {
        open.finish(error as Error);
      }
      return open;
    },
    onStored(message, worker, attempt, isDecided) {
      const key = attemptMessageId(worker, attempt);
      const submittedAs = waiterKeyOf(message, worker, attempt);
      if (!isDecided) waiters.onStored(submittedAs, key);
      traces.onStored(message, worker, attempt, submittedAs, fleet.workers.get(worker)?.owner === replica);
      const inbox = message.header('Stopgate-Reply');
      if (inbox !== undefined) replyInboxes.add(key, inbox);
    },
    onRefused(message, worker, attempt, reason) {
      waiters.settle(waiterKeyOf(message, worker, attempt), new AppError('service.busy', reason));
    },
    onDecided(decision, entry) {
      const { worker, attempt } = decision as Decision & { readonly attempt: string };
      const key = entry === null ? attemptMessageId(worker, attempt) : waiterKeyOf(entry, worker, attempt);
      waiters.settle(key, decision);
    },
    fail: (worker, attempt, error) => waiters.settle(attemptMessageId(worker, attempt), error),
  };
}

/**
 * Returns the key under which callers wait for this entry. An attempt without an id is found by its message id.
 * Publishers choose that header freely, so only the unguessable message ids of this worker's unnamed attempts count.
 */
function waiterKeyOf(message: LogMessage, worker: string, attempt: string): string {
  const messageId = message.header('Nats-Msg-Id');
  const isUnnamed = messageId?.startsWith(unnamedAttemptMessageId(worker, '')) ?? false;
  return messageId !== undefined && isUnnamed ? messageId : attemptMessageId(worker, attempt);
}

/** Sends the entry. The acknowledgement only matters if the log refuses the entry or has seen its message id before. */
function submit(options: AttemptsOptions, open: OpenAttempt, payload: string, messageId: string): void {
  const { log, lifecycle, progress, replica, traces } = options;
  const target = subject(options, `worker.${open.actor}.stop.attempted`);
  const trace = traces.onSubmitted(open.actor, open.key);
  log.submit(target, payload, { messageId, replica, trace }, (answer) => {
    if (answer instanceof AppError) {
      if (answer.code === 'log.lost') lifecycle.lose(answer);
      open.finish(answer);
    } else if (answer.duplicate)
      void progress.until(answer.seq).then(() => onAcknowledged(options, open, payload, answer));
    else onAcknowledged(options, open, payload, answer);
  });
}

function onAcknowledged(
  options: AttemptsOptions,
  open: OpenAttempt,
  payload: string,
  { seq, duplicate }: Stored,
): void {
  if (!open.isOpen || seq > options.progress.seq || !options.waiters.awaitsEntry(open.waitsFor)) return;
  // We folded past the acknowledged sequence without seeing our entry: its message id was already taken, or the log was
  // replaced.
  if (duplicate) submit(options, open, payload, retriedMessageId(open.key, options.newId()));
  else void catchUp(options).catch(() => {});
}
