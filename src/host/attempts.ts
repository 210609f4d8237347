/** Accepts attempts: a request becomes an entry of the log, and waits until that entry comes back and is decided. */
import {
  attemptMessageId,
  type Decision,
  type Fleet,
  isAttemptMessageIdOf,
  isKnownAttempt,
  retriedMessageId,
  unnamedAttemptMessageId,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import type { Stored } from '../nats/log-submitter.ts';
import type { TraceHeaders } from '../tracing.ts';
import type { HostContext } from './context.ts';
import { expectEntry } from './expect-entry.ts';
import { subject } from './own-entries.ts';
import { catchUp } from './read-barrier.ts';

export type AttemptRequest = { readonly attempt?: string | undefined };

/** The fold has seen an attempt of that id, open or decided. */
export const isKnown = (fleet: Fleet, worker: string, attempt: string): boolean =>
  isKnownAttempt(fleet.workers.get(worker)?.known ?? null, attempt);

/** The attempt is not decided yet. */
export const isOpenAttempt = (fleet: Fleet, worker: string, attempt: string): boolean =>
  fleet.workers.get(worker)?.snapshot.context.worker.attempt?.attempt === attempt;

/** Appends an attempt that the fold does not know and gives its decision. @throws AppError log.unavailable, log.lost */
export function submitAttempt(context: HostContext, worker: string, fields: AttemptRequest): Promise<Decision> {
  const { attempt } = fields;
  const messageId =
    attempt === undefined ? unnamedAttemptMessageId(worker, context.newId()) : attemptMessageId(worker, attempt);
  const decision = context.decisionWaiters.wait(messageId, (onLate) => expectEntry(context, onLate));
  const trace = context.traces.onSubmitted(worker, messageId);
  submit(context, worker, fields, trace, messageId);
  return decision.catch((error: Error) => {
    context.traces.onFailed(messageId, error);
    throw error;
  });
}

/** The entry of an attempt was folded: its callers wait for the decision now. */
export function onAttemptStored(context: HostContext, message: LogMessage, worker: string, attempt: string): void {
  const { decisionWaiters, replyInboxes, traces, fleet, replica } = context;
  const key = attemptMessageId(worker, attempt);
  const messageId = message.header('Nats-Msg-Id');
  // Only an id of this worker: else a worker could make another's caller wait for its own decision.
  if (messageId !== undefined && isAttemptMessageIdOf(worker, messageId)) decisionWaiters.onStored(messageId, key);
  decisionWaiters.onStored(key, key);
  traces.onStored(message, worker, attempt, fleet.workers.get(worker)?.owner === replica);
  const inbox = message.header('Stopgate-Reply');
  if (inbox !== undefined) replyInboxes.add(key, inbox);
}

/** The fold does not take it, since the fleet is full: its caller is told, and may ask again later. */
export function onAttemptRefused(context: HostContext, message: LogMessage, worker: string, reason: string): void {
  const messageId = message.header('Nats-Msg-Id');
  if (messageId !== undefined && isAttemptMessageIdOf(worker, messageId))
    context.decisionWaiters.fail(messageId, new AppError('service.busy', reason));
}

/**
 * Sends it without waiting for the acknowledgement, which only matters if the log does not take the entry.
 * @param waiter the key of its caller, and its message id unless an agent has used that one before
 */
function submit(
  context: HostContext,
  worker: string,
  fields: AttemptRequest,
  trace: TraceHeaders,
  waiter: string,
  messageId = waiter,
): void {
  const { replica, decisionWaiters, life, progress } = context;
  const onAnswer = async (answer: AppError | Stored) => {
    if (answer instanceof AppError) {
      if (answer.code === 'log.lost') life.lose(answer);
      decisionWaiters.fail(waiter, answer);
      return;
    }
    if (answer.duplicate) await progress.until(answer.seq);
    if (answer.seq > progress.seq || !decisionWaiters.awaitsEntry(waiter)) return;
    // Its place is folded, and it was not there: another entry has had its id, or this is another log.
    if (answer.duplicate) submit(context, worker, fields, trace, waiter, retriedMessageId(waiter, context.newId()));
    else await catchUp(context).catch(() => {});
  };
  const target = subject(context, `worker.${worker}.stop.attempted`);
  context.log.submit(target, JSON.stringify(fields), { messageId, replica, trace }, (answer) => void onAnswer(answer));
}
