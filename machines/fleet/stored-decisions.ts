/**
 * Decisions in the log are final (protocol.md §15). If this release decides an attempt differently from its `decision`
 * entry, or has not decided it when that entry arrives, the entry wins: the agent was answered with it.
 */
import { attemptMessageId } from '../entries/message-ids.ts';
import type { Decision } from '../guards/decision.ts';
import { resetCounts, withoutTasks } from '../worker/changes.ts';
import { changeContext, empty, type WorkerContext } from '../worker/context.ts';
import { dispositionOf, escalationOf, heldAtEndAfter, losesTasks } from '../worker/decide.ts';
import type { Fleet } from './fleet.ts';
import { noteDecisionSeq } from './known-attempts.ts';
import { moveWorker } from './workers.ts';

/** The fields by which decisions of an attempt are compared. */
export type DecisionKey = Pick<Decision, 'worker' | 'attempt' | 'seq' | 'decision' | 'action' | 'cause' | 'state'> & {
  readonly retry?: Partial<Decision['retry']>;
  readonly keepAlives?: Partial<Decision['keepAlives']>;
};

/** True if the fold decided the attempt differently or not yet. False if it decided equally, or no longer knows it. */
export function isOtherDecision(fleet: Fleet, stored: DecisionKey): boolean {
  const worker = fleet.workers.get(stored.worker)?.snapshot.context.worker;
  return worker !== undefined && isDifferent(worker, stored);
}

/** @returns whether the stored decision replaced the fold's decision, or preceded it */
export function takeDecision(fleet: Fleet, stored: Decision): boolean {
  const record = fleet.workers.get(stored.worker);
  const worker = record?.snapshot.context.worker;
  if (record === undefined || worker === undefined || !isDifferent(worker, stored)) return false;
  const { value } = record.snapshot;
  const state = stored.state === 'validating' ? value.state : stored.state;
  const next = fleet.workerStepper.resume(
    { ...value, state },
    { worker: changeContext(worker, changesFor(worker, stored)), evaluation: undefined },
  );
  moveWorker(fleet, record, next, 'decision');
  return true;
}

/** Records that the decision entry of an attempt is at `seq`. Repeated attempts are answered from there. */
export function noteDecision(fleet: Fleet, worker: string, attempt: string, seq: number): void {
  const record = fleet.workers.get(worker);
  if (record !== undefined) noteDecisionSeq(record.known, attempt, seq);
  const key = attemptMessageId(worker, attempt);
  for (const id of fleet.unplacedDecisions.get(key) ?? []) {
    const task = fleet.tasks.get(id);
    if (task?.judged?.worker === worker && task.judged.attempt === attempt) task.judged = { worker, attempt, seq };
  }
  fleet.unplacedDecisions.delete(key);
}

function isDifferent({ attempt, lastDecision }: WorkerContext, stored: DecisionKey): boolean {
  const isOf = (subject: { readonly attempt: string | null; readonly seq: number | null } | null) =>
    subject !== null && subject.attempt === stored.attempt && subject.seq === stored.seq;
  return isOf(attempt) || (attempt === null && isOf(lastDecision) && !isAlike(lastDecision as Decision, stored));
}

/** Tells whether both decisions have the same effect. Their texts may differ. */
const isAlike = (made: DecisionKey, stored: DecisionKey): boolean =>
  made.decision === stored.decision &&
  made.action === stored.action &&
  made.cause === stored.cause &&
  made.state === stored.state &&
  made.retry?.count === stored.retry?.count &&
  made.keepAlives?.count === stored.keepAlives?.count;

function changesFor(worker: WorkerContext, stored: Decision): Partial<WorkerContext> {
  const lastDecision: Decision = { ...stored, replica: '', tookMs: 0 };
  const isReset = stored.decision === 'allow' && stored.action !== 'continue';
  const counts = { retryCount: stored.retry.count, keepAlives: stored.keepAlives.count };
  const lastDisposition = dispositionOf(stored);
  return {
    attempt: null,
    lastDecision,
    lastDisposition,
    lastJudgedTasks: empty,
    ...(isReset ? resetCounts : counts),
    escalation: stored.action === 'escalate' ? (worker.escalation ?? escalationOf(lastDecision)) : null,
    ...(losesTasks(lastDisposition) ? withoutTasks(worker, worker.tasks) : {}),
    heldAtEnd: heldAtEndAfter(worker, lastDisposition),
  };
}
