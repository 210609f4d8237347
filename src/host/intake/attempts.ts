/**
 * Attempts and evaluations: a request becomes an entry of the log, and waits until that entry comes back and is decided. A
 * known id gets the decision that it had: nothing is judged or counted again.
 */
import {
  attemptMessageId,
  type Decision,
  decisionSeqOf,
  evaluationMessageId,
  type Fleet,
  type HookResult,
  isAttemptMessageIdOf,
  isEvaluationMessageIdOf,
  isKnownAttempt,
  readJson,
  retriedMessageId,
  unnamedAttemptMessageId,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { Stored } from '../../nats/log/log-submitter.ts';
import type { TraceHeaders } from '../../telemetry/tracing.ts';
import type { HostContext } from '../context.ts';
import type { Outbox } from '../fold/outbox.ts';
import { subject } from '../own-entries.ts';
import { catchUp } from './read-barrier.ts';
import type { OnAnswer } from './waiters.ts';

/** `payload`: the fields as the log is to hold them. */
export type AttemptRequest = { readonly attempt?: string | undefined; readonly payload: string };

/** The fold has seen an attempt of that id, open or decided. */
export const isKnown = (fleet: Fleet, worker: string, attempt: string): boolean =>
  isKnownAttempt(fleet.workers.get(worker)?.known ?? null, attempt);

/** The attempt is not decided yet. */
const isOpenAttempt = (fleet: Fleet, worker: string, attempt: string): boolean =>
  fleet.workers.get(worker)?.snapshot.context.worker.attempt?.attempt === attempt;

/** One that its caller did not name gets an id that nobody can foresee. */
export const messageIdFor = ({ newId }: Pick<HostContext, 'newId'>, worker: string, attempt: string | undefined) =>
  attempt === undefined ? unnamedAttemptMessageId(worker, newId()) : attemptMessageId(worker, attempt);

/**
 * Appends an attempt that the fold does not know. Its decision, or log.unavailable or log.lost, goes to `onAnswer`, in
 * the turn that folds the entry if no check is needed.
 */
export function submitAttempt(
  context: HostContext,
  worker: string,
  payload: string,
  messageId: string,
  onAnswer: OnAnswer<Decision>,
): void {
  context.decisionWaiters.wait(messageId, 'to come', (given) => {
    if (given instanceof Error) context.traces.onFailed(messageId, given);
    onAnswer(given);
  });
  submit(
    context,
    { worker, payload, trace: context.traces.onSubmitted(worker, messageId), waiter: messageId },
    messageId,
  );
}

/**
 * The entry of an attempt was folded: its callers wait for the decision now, unless that is made already. Then they get it
 * in this turn (`settleAttempt`).
 */
export function onAttemptStored(
  context: HostContext,
  message: LogMessage,
  worker: string,
  attempt: string,
  isDecided: boolean,
): void {
  const { decisionWaiters, replyInboxes, traces, fleet, replica } = context;
  const key = attemptMessageId(worker, attempt);
  if (!isDecided) {
    const messageId = ownMessageId(message, worker);
    if (messageId !== undefined) decisionWaiters.onStored(messageId, key);
    decisionWaiters.onStored(key, key);
  }
  traces.onStored(message, worker, attempt, fleet.workers.get(worker)?.owner === replica);
  const inbox = message.header('Stopgate-Reply');
  if (inbox !== undefined) replyInboxes.add(key, inbox);
}

/** Only an id of this worker: else a worker could make another's caller wait for its own decision. */
function ownMessageId(message: LogMessage, worker: string): string | undefined {
  const messageId = message.header('Nats-Msg-Id');
  return messageId !== undefined && isAttemptMessageIdOf(worker, messageId) ? messageId : undefined;
}

/** Answers its callers. @param entry that of the attempt, if it was folded just now */
export function settleAttempt(
  { decisionWaiters }: HostContext,
  key: string,
  decision: Decision,
  entry: LogMessage | null,
): void {
  const messageId = entry === null ? undefined : ownMessageId(entry, decision.worker);
  if (messageId !== undefined && messageId !== key) decisionWaiters.settle(messageId, decision);
  decisionWaiters.settle(key, decision);
}

/** The fold does not take it, since the fleet is full: its caller is told, and may ask again later. */
export function onAttemptRefused(context: HostContext, message: LogMessage, worker: string, reason: string): void {
  const messageId = ownMessageId(message, worker);
  if (messageId !== undefined) context.decisionWaiters.settle(messageId, new AppError('service.busy', reason));
}

/** `waiter`: the key of its caller, and its message id unless an agent has used that one before. */
type Submission = {
  readonly worker: string;
  readonly payload: string;
  readonly trace: TraceHeaders;
  readonly waiter: string;
};

/** Sends it without waiting for the acknowledgement, which only matters if the log does not take the entry. */
function submit(context: HostContext, submission: Submission, messageId: string): void {
  const { worker, payload, trace } = submission;
  const target = subject(context, `worker.${worker}.stop.attempted`);
  context.log.submit(target, payload, { messageId, replica: context.replica, trace }, (answer) => {
    if (answer instanceof AppError) {
      if (answer.code === 'log.lost') context.lifecycle.lose(answer);
      context.decisionWaiters.settle(submission.waiter, answer);
    } else if (answer.duplicate)
      void context.progress.until(answer.seq).then(() => onPlaceFolded(context, submission, answer));
    else onPlaceFolded(context, submission, answer);
  });
}

function onPlaceFolded(context: HostContext, submission: Submission, { seq, duplicate }: Stored): void {
  const { waiter } = submission;
  if (seq > context.progress.seq || !context.decisionWaiters.awaitsEntry(waiter)) return;
  // Its place is folded, and it was not there: another entry has had its id, or this is another log.
  if (duplicate) submit(context, submission, retriedMessageId(waiter, context.newId()));
  else void catchUp(context).catch(() => {});
}

/** By a request. `onAnswer` may get log.unavailable: its decision cannot be read now; entry.refused: it is gone. */
export async function repeatAttempt(
  context: HostContext,
  outbox: Outbox,
  worker: string,
  attempt: string,
  onAnswer: OnAnswer<Decision>,
): Promise<void> {
  if (isOpenAttempt(context.fleet, worker, attempt)) {
    context.decisionWaiters.wait(attemptMessageId(worker, attempt), 'folded', onAnswer);
    return;
  }
  const decision = await findDecision(context, outbox, worker, attempt);
  if (decision === null)
    throw new AppError('log.unavailable', `the decision of attempt ${attempt} cannot be read from the log now`);
  onAnswer(decision);
}

/**
 * The decision by which a task was completed.
 * @throws AppError actor.unknown: it was not, or its decision is gone; log.unavailable: it cannot be read now
 */
export async function findCompletion(context: HostContext, outbox: Outbox, task: string): Promise<Decision> {
  const judged = context.fleet.tasks.get(task)?.judged ?? null;
  if (judged === null) throw new AppError('actor.unknown', `no decision completed task ${task}`);
  const { worker, attempt, seq } = judged;
  const decision =
    outbox.find(worker, attempt) ?? (seq === null ? null : await readStored(context, worker, attempt, seq));
  if (decision !== null) return decision;
  const lastDecision = context.fleet.workers.get(worker)?.snapshot.context.worker.lastDecision ?? null;
  if (lastDecision?.attempt === attempt) return { ...lastDecision, replica: context.replica };
  const what = `the decision that completed task ${task} (attempt ${attempt} of worker ${worker})`;
  if (seq !== null && seq < (await context.log.range()).firstSeq)
    throw new AppError('actor.unknown', `retention has removed ${what} from the log`);
  throw new AppError('log.unavailable', `${what} cannot be read from the log now`);
}

/** By another entry in the log: answers its inbox, and the callers here. */
export async function onAttemptRepeated(
  context: HostContext,
  outbox: Outbox,
  worker: string,
  attempt: string,
): Promise<void> {
  // While it is open, its decision will go to all of them.
  if (isOpenAttempt(context.fleet, worker, attempt)) return;
  const { decisionWaiters, replyInboxes } = context;
  const key = attemptMessageId(worker, attempt);
  const inboxes = replyInboxes.take(key);
  const isAsked = inboxes.length > 0 && context.lifecycle.isAtHead();
  if (!isAsked && !decisionWaiters.has(key)) return;
  const unreadable = new AppError('log.unavailable', `the decision of attempt ${attempt} cannot be read now`);
  const decision = await findDecision(context, outbox, worker, attempt).catch((error: Error) => error);
  if (decision === null || decision instanceof Error) {
    decisionWaiters.settle(key, decision instanceof AppError ? decision : unreadable);
    return;
  }
  decisionWaiters.settle(key, decision);
  if (isAsked) for (const inbox of inboxes) context.bus.answer(inbox, JSON.stringify(decision));
}

/** The decision of an attempt that is known and no longer open. Null: it cannot be read now. @throws AppError */
async function findDecision(
  context: HostContext,
  outbox: Outbox,
  worker: string,
  attempt: string,
): Promise<Decision | null> {
  const unpublished = outbox.find(worker, attempt);
  if (unpublished !== null) return unpublished;
  const seq = decisionSeqOf(context.fleet.workers.get(worker)?.known ?? null, attempt);
  if (seq === null) return null;
  const decision = await readStored(context, worker, attempt, seq);
  if (decision !== null) return decision;
  // Another entry stands there: either this is no longer the log that was folded, or somebody took that message id.
  await catchUp(context);
  if (seq < (await context.log.range()).firstSeq) return decisionCutAway(context, worker, attempt);
  context.logger.warn({ workerId: worker, attempt, seq }, 'there is no decision where it was stored');
  return null;
}

/** Returns null if no decision of that attempt stands there, or it cannot be read. */
async function readStored(
  context: HostContext,
  worker: string,
  attempt: string,
  seq: number,
): Promise<Decision | null> {
  const text = await context.log.fetch(seq, subject(context, `decision.${worker}`));
  const decision = text === null ? null : readDecision(text);
  // `seq` of a decision is its attempt's, which stands before it.
  const isIt = decision?.worker === worker && decision.attempt === attempt && (decision.seq ?? seq) < seq;
  return isIt ? decision : null;
}

/** Retention has removed its entry, and the fold has the last one of each worker. @throws AppError entry.refused */
function decisionCutAway({ fleet, replica }: HostContext, worker: string, attempt: string): Decision {
  const lastDecision = fleet.workers.get(worker)?.snapshot.context.worker.lastDecision ?? null;
  if (lastDecision?.attempt === attempt) return { ...lastDecision, replica };
  const why = 'it was decided, and retention has removed its decision from the log';
  throw new AppError('entry.refused', `attempt ${attempt} of worker ${worker} is over: ${why}; ask under a new id`);
}

function readDecision(text: string): Decision | null {
  const read = readJson(text);
  return read.ok ? (read.value as Decision) : null;
}

const evaluationKey = (task: string, attempt: string) => `${task}:${attempt}`;

/**
 * Appends an `iteration.validated` and gives what the hooks decide. Each call is judged again, so each has an id of its
 * own: equal fields about the same iteration are not a repeat. @throws AppError entry.refused, log.unavailable
 */
export function submitEvaluation(context: HostContext, task: string, fields: object): Promise<HookResult> {
  const { replica, evaluationWaiters } = context;
  const messageId = evaluationMessageId(task, context.newId());
  const target = subject(context, `task.${task}.iteration.validated`);
  return new Promise((resolve, reject) => {
    evaluationWaiters.wait(messageId, 'to come', (answer) =>
      answer instanceof Error ? reject(answer) : resolve(answer),
    );
    context.log.submit(target, JSON.stringify(fields), { messageId, replica }, (stored) => {
      if (stored instanceof AppError) evaluationWaiters.settle(messageId, stored);
    });
  });
}

/** An `iteration.validated` was folded; its outcomes come after. `refusal`: why it makes no sense now, or null. */
export function onEvaluationStored(
  { evaluationWaiters }: HostContext,
  message: LogMessage,
  task: string,
  attempt: string,
  refusal: string | null,
): void {
  const messageId = message.header('Nats-Msg-Id');
  if (messageId === undefined || !isEvaluationMessageIdOf(task, messageId)) return;
  if (refusal === null) evaluationWaiters.onStored(messageId, evaluationKey(task, attempt));
  else evaluationWaiters.settle(messageId, new AppError('entry.refused', refusal));
}

export const onEvaluated = ({ evaluationWaiters }: HostContext, task: string, attempt: string, result: HookResult) =>
  evaluationWaiters.settle(evaluationKey(task, attempt), result);
