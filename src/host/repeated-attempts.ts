/** Repeated attempts: a known id gets the decision that it had. Nothing is judged or counted again. */
import { attemptMessageId, type Decision, decisionSeqOf, readJson } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { isOpenAttempt } from './attempts.ts';
import type { HostContext } from './context.ts';
import type { Outbox } from './outbox.ts';
import { subject } from './own-entries.ts';
import { catchUp } from './read-barrier.ts';

/** By a request. @throws AppError log.unavailable: its decision cannot be read now; entry.refused: it is gone */
export async function repeatAttempt(
  context: HostContext,
  outbox: Outbox,
  worker: string,
  attempt: string,
): Promise<Decision> {
  if (isOpenAttempt(context.fleet, worker, attempt))
    return context.decisionWaiters.wait(attemptMessageId(worker, attempt), null);
  const decision = await findDecision(context, outbox, worker, attempt);
  if (decision !== null) return decision;
  throw new AppError('log.unavailable', `the decision of attempt ${attempt} cannot be read from the log now`);
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
  const isAsked = inboxes.length > 0 && context.life.isAtHead();
  if (!isAsked && !decisionWaiters.has(key)) return;
  const unreadable = new AppError('log.unavailable', `the decision of attempt ${attempt} cannot be read now`);
  const decision = await findDecision(context, outbox, worker, attempt).catch((error: Error) => error);
  if (decision === null || decision instanceof Error) {
    decisionWaiters.fail(key, decision instanceof AppError ? decision : unreadable);
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

/** Null: no decision of that attempt stands there, or it cannot be read. */
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
