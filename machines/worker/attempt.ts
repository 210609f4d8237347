/**
 * Opens, updates and ends a worker's attempt. Input from outside only changes the context here. The transitions of
 * state `validating` evaluate the guards, then decide or wait (protocol.md §4 and §5).
 */
import type { Attempt, AwaitedCheck } from '../guards/attempt.ts';
import { expiredResult, startTimeout } from '../guards/awaited-check.ts';
import { type GuardName, isWorkGuard, type WorkGuard } from '../guards/decision.ts';
import {
  advanceTo,
  type GuardEvaluation,
  type JudgedAttempt,
  resultIn,
  stopAt,
  streakAfter,
} from '../guards/evaluate.ts';
import { type DecidingResult, type GuardResult, reasonsOf } from '../guards/guard.ts';
import { guardRows } from '../guards/index.ts';
import { type StopOutcome, stopOutcomes } from '../guards/outcome.ts';
import { extendStreak } from '../guards/stuck.ts';
import { keptAnswer } from '../guards/task-hooks/evaluate.ts';
import { type CheckResult, isAbout } from '../policy/checks/check-result.ts';
import { findingOf } from '../policy/checks/evaluate.ts';
import { idleLimitOf } from '../policy/persistence.ts';
import { noInputs } from '../values/questions.ts';
import { addToBoth, oneTurn } from '../values/usage.ts';
import { type Change, pauseAfterSession, resetCounts, withHeldAtEnd, withoutTasks } from './changes.ts';
import { empty, type WorkerContext } from './context.ts';
import { decide } from './decide.ts';
import { factsFor, policyFor, type WorkerEventOf } from './events.ts';

const noFindings = Object.freeze({});

export function openAttempt(context: WorkerContext, event: WorkerEventOf<'stop.attempted'>): Change {
  const { seq, data: fields } = event;
  const inForce = policyFor(event.facts);
  const facts = factsFor(context, inForce, event);
  const opening = { attempt: fields.attempt ?? `seq-${seq}`, seq, fields, inForce, facts };
  return {
    attempt: createAttempt(context, opening, event.facts?.from),
    calls: empty,
    usage: addToBoth(context.usage, oneTurn),
  };
}

type Opening = Pick<Attempt, 'attempt' | 'seq' | 'fields' | 'inForce' | 'facts'>;

/** Returns the attempt before its first guard. */
export function createAttempt(
  { profile }: WorkerContext,
  { attempt, seq, fields, inForce, facts }: Opening,
  guard: GuardName = 'retired',
): Attempt {
  const { persistence } = inForce.policy;
  return {
    attempt,
    seq,
    atMs: facts.nowMs,
    fields,
    inForce,
    idleLimitMs: idleLimitOf(inForce.policy, profile),
    holdUntilMs: facts.nowMs + (persistence === null ? 0 : (fields.holdMs ?? persistence.holdMs)),
    facts,
    guard,
    verdicts: inForce.notes.length === 0 ? empty : inForce.notes.map(noteVerdict),
    feedback: empty,
    findings: noFindings,
    hookResults: noFindings,
    pending: null,
    pendingCount: 0,
    waitedMs: noWait,
    isHeld: false,
    judgedTasks: empty,
  };
}

const noteVerdict = (detail: string) => ({ guard: 'policy', verdict: 'error', detail }) as const;
const noWait = Object.freeze({ checks: 0, hooks: 0 });

/**
 * Tells whether a `check.started` or `check.finished` is about the awaited check of the open attempt. Others are
 * ignored.
 */
export const isAboutPending = (
  { attempt }: WorkerContext,
  { data }: WorkerEventOf<'check.started' | 'check.finished'>,
): boolean => attempt !== null && attempt.pending !== null && isAbout(data, attempt, attempt.pending);

/** Call only if `isAboutPending`. */
export function startCheck({ attempt }: WorkerContext, { atMs }: WorkerEventOf<'check.started'>): Change {
  const { pending } = attempt as Attempt;
  return { attempt: { ...(attempt as Attempt), pending: startTimeout(pending as AwaitedCheck, atMs) } };
}

/** Call only if `isAboutPending`. */
export const answerCheck = (context: WorkerContext, event: WorkerEventOf<'check.finished'>): Change => ({
  attempt: answered(context, event, event.data),
});

/** Evaluates the attempt again when its deadline is due, or when a task has arrived for a held attempt. */
export function reevaluate(context: WorkerContext, event: WorkerEventOf<'timer.fired'>): Change {
  const attempt = context.attempt as Attempt;
  const { pending } = attempt;
  if (pending !== null) {
    if (event.atMs < pending.deadlineMs) return {};
    return { attempt: answered(context, event, expiredResult(pending, attempt.attempt)) };
  }
  // Restart at guard `pending`, so that a ready task takes precedence over the end of the hold.
  const verdicts = attempt.verdicts.filter((verdict) => verdict.guard !== 'pending');
  const facts = factsFor(context, attempt.inForce, event);
  return { attempt: { ...attempt, facts, verdicts, guard: 'pending', isHeld: false } };
}

function answered(
  context: WorkerContext,
  event: WorkerEventOf<'check.finished' | 'timer.fired'>,
  result: CheckResult,
): Attempt {
  const attempt = context.attempt as Attempt;
  const { by, sinceMs, ...pending } = attempt.pending as AwaitedCheck;
  const facts = factsFor(context, attempt.inForce, event);
  const waitedMs = { ...attempt.waitedMs, [by]: attempt.waitedMs[by] + facts.nowMs - sinceMs };
  const next = { ...attempt, facts, waitedMs, pending: null };
  if ('key' in pending) return { ...next, hookResults: { ...attempt.hookResults, [pending.key]: keptAnswer(result) } };
  return { ...next, findings: { ...attempt.findings, [pending.check.name]: findingOf(pending.check, result) } };
}

export const isWaiting = ({ attempt }: WorkerContext): boolean =>
  attempt !== null && (attempt.pending !== null || attempt.isHeld);

const isOpen = (worker: WorkerContext): worker is WorkerContext & JudgedAttempt => worker.attempt !== null;

/** Returns the worker if it has an open attempt, or null. */
export const judgedIn = (worker: WorkerContext): (WorkerContext & JudgedAttempt) | null =>
  isOpen(worker) ? worker : null;

/** Keeps the attempt open at `guard`. */
export function wait(worker: WorkerContext, evaluation: GuardEvaluation | undefined, guard: GuardName): Change {
  const result = evaluation === undefined ? null : resultIn(evaluation, guard);
  if (!isOpen(worker) || evaluation === undefined || result === null) return {};
  const attempt = stopAt(guard, result, advanceTo(guard, worker.attempt, evaluation), 'pass', evaluation.showsInputs);
  return { attempt, failureStreak: streakAfter(worker.failureStreak, attempt) };
}

/** A transition: the guard that decides, its target state, and the guard whose block it replaces, or null. */
export type DecidingRow = { readonly guard: GuardName; readonly to: StopOutcome; readonly by: WorkGuard | null };

/** Makes the decision of the transition that was taken. The target state determines decision and action. */
export function decideBy(
  worker: WorkerContext,
  evaluation: GuardEvaluation | undefined,
  { guard, to, by }: DecidingRow,
): Change {
  if (!isOpen(worker) || evaluation === undefined) return {};
  const result = resultIn(evaluation, guard);
  const own = result?.kind === 'decides' ? result : providedResult(guard, to, result);
  const { cause, reason, nextPrompt } = own.ruling;
  const { decision, action } = stopOutcomes[to];
  const ruling = { decision, action, cause, reason, nextPrompt, guard };
  const blocking = by === null ? null : resultIn(evaluation, by);
  const passed = advanceTo(by ?? guard, worker.attempt, evaluation);
  const from =
    by === null || blocking === null ? passed : stopAt(by, blocking, passed, 'block', evaluation.showsInputs);
  const attempt = stopAt(guard, own, from, decision, evaluation.showsInputs);
  const isFailed = by !== null || (to === 'blocked' && isWorkGuard(guard));
  const failureStreak = isFailed
    ? extendStreak(
        worker.failureStreak,
        blocking?.kind === 'decides' ? reasonsOf(blocking) : reasonsOf(own),
        worker.attempt.inForce.policy.stuckAfter,
      )
    : streakAfter(worker.failureStreak, attempt);
  return decide(worker, attempt, ruling, failureStreak);
}

/**
 * Returns the result of a guard passed to `workerMachine.provide` that decides although our guard of that name does not.
 * `replaced`: the result of our guard, or null if it was not evaluated.
 */
function providedResult(guard: GuardName, to: StopOutcome, replaced: GuardResult | null): DecidingResult {
  const reason = `Guard ${guard} decided`;
  const cause = guardRows[guard].leadsTo[to] ?? 'unjudged';
  const ruling = { ...stopOutcomes[to], cause, reason, nextPrompt: to === 'blocked' ? `${reason}. Go on.` : null };
  return { kind: 'decides', detail: reason, input: replaced?.input ?? {}, ruling };
}

/** Ends the attempt if no transition was taken: the stop is allowed unjudged. */
export function decideNothing(worker: WorkerContext): Change {
  if (worker.attempt === null) return {};
  const ruling = {
    ...stopOutcomes.idle,
    cause: 'unjudged',
    reason: 'No guard decided',
    nextPrompt: null,
    guard: null,
  } as const;
  return decide(worker, worker.attempt, ruling);
}

/** Ends the open attempt because of a newer attempt or a prompt. */
export function supersedeAttempt(
  context: WorkerContext,
  event: WorkerEventOf<'attempt.superseded' | 'stop.attempted' | 'prompt.submitted'>,
): Change {
  const { attempt } = context;
  if (attempt === null) return {};
  const facts = factsFor(context, attempt.inForce, { ...event, facts: { ...event.facts, queue: attempt.facts.queue } });
  const ruling = {
    ...stopOutcomes.blocked,
    cause: 'superseded',
    reason: 'A newer attempt or prompt took the place of this one',
    nextPrompt: null,
    guard: null,
  } as const;
  return decide(context, { ...attempt, facts }, ruling);
}

/** Ends the session or retires the worker. An open attempt is allowed. */
export function closeSession(context: WorkerContext, event: WorkerEventOf<'session.ended' | 'worker.retired'>): Change {
  const ended = event.type === 'worker.retired' || context.ended === 'retired' ? 'retired' : 'ended';
  const closed = {
    ended,
    escalation: null,
    ...noInputs,
    background: empty,
    pause: pauseAfterSession(context.pause),
    calls: empty,
    heldAtEnd: withHeldAtEnd(context, context.tasks),
    ...withoutTasks(context, context.tasks),
    attempt: null,
  } as const;
  const freed = context.tasks.length > 0 ? { ...resetCounts, activeMs: event.atMs } : {};
  if (context.attempt === null) return { ...closed, ...freed };
  const reason = ended === 'retired' ? 'The worker was retired' : 'The session ended';
  const verdict = { guard: 'retired', verdict: 'allow', detail: reason, input: { ended } } as const;
  const facts = factsFor(context, context.attempt.inForce, event);
  const attempt: Attempt = { ...context.attempt, facts, verdicts: [...context.attempt.verdicts, verdict] };
  const ruling = { ...stopOutcomes.stopped, cause: 'retired', reason, nextPrompt: null, guard: 'retired' } as const;
  return { ...decide(context, attempt, ruling), ...closed, ...freed, lastDisposition: 'held' };
}
