/** Repeated attempts: a known id gets the decision that it had. Nothing is judged or counted again. */
import { attemptMessageId, type Decision, decisionSeqOf } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { isOpenAttempt } from './attempts.ts';
import { type HostContext, isAtHead } from './context.ts';
import type { Outbox } from './outbox.ts';

/** By a request. @throws AppError log.unavailable: its decision cannot be read now */
export async function repeatAttempt(
  context: HostContext,
  outbox: Outbox,
  worker: string,
  attempt: string,
): Promise<Decision> {
  if (isOpenAttempt(context.fleet, worker, attempt))
    return context.decisionWaiters.wait(attemptMessageId(worker, attempt), 0);
  const decision = await findDecision(context, outbox, worker, attempt);
  if (decision !== null) return decision;
  throw new AppError('log.unavailable', `the decision of attempt ${attempt} cannot be read from the log now`);
}

/** By a second entry in the log: answers its inbox, and the callers here. */
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
  const inbox = replyInboxes.get(key);
  replyInboxes.delete(key);
  if (!isAtHead(context) || (inbox === undefined && !decisionWaiters.has(key))) return;
  const decision = await findDecision(context, outbox, worker, attempt).catch(() => null);
  if (decision === null) {
    const message = `the decision of attempt ${attempt} cannot be read now`;
    decisionWaiters.fail(key, new AppError('log.unavailable', message));
    return;
  }
  decisionWaiters.settle(key, decision);
  if (inbox !== undefined) context.bus.answer(inbox, JSON.stringify(decision));
}

/** The decision of an attempt that is known and no longer open. */
async function findDecision(
  { fleet, log }: HostContext,
  outbox: Outbox,
  worker: string,
  attempt: string,
): Promise<Decision | null> {
  const unpublished = outbox.find(worker, attempt);
  if (unpublished !== null) return unpublished;
  const seq = decisionSeqOf(fleet.workers.get(worker)?.known ?? null, attempt);
  const text = seq === null ? null : await log.fetch(seq);
  return text === null ? null : (JSON.parse(text) as Decision);
}
