/**
 * A worker's attempt, from its opening to its end: the guards leave it open or decide it
 * (protocol.md §4 and §5).
 */
import type { Attempt, Facts, PendingCheck } from '../guards/attempt.ts';
import { evaluateGuards, type Stopwatch } from '../guards/evaluate.ts';
import type { GuardName } from '../guards/names.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import { findingOf } from '../policy/checks/evaluate.ts';
import { idleLimitOf } from '../policy/persistence.ts';
import { type Change, resetCounts } from './changes.ts';
import { empty, type WorkerContext } from './context.ts';
import { decide } from './decide.ts';
import type { On } from './events.ts';

const noFindings = Object.freeze({});

/** @param guard the first that is evaluated */
export function openAttempt(context: WorkerContext, event: On<'stop.attempted'>, guard?: GuardName): Change {
  return evaluate(context, event.stopwatch, createAttempt(context, event, guard));
}

/** The attempt as it stands before its first guard. */
export function createAttempt(
  { profile }: WorkerContext,
  { attempt, seq, fields, inForce, facts }: Omit<On<'stop.attempted'>, 'stopwatch'>,
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
    verdicts: inForce.notes.map((detail) => ({ guard: 'policy', verdict: 'error', detail }) as const),
    feedback: empty,
    findings: noFindings,
    hookResults: noFindings,
    pending: null,
    pendingCount: 0,
    isHeld: false,
    checksPassed: false,
    checkpoint: null,
    hookRuns: empty,
  };
}

/** To be called while that check is pending. */
export function answerCheck(context: WorkerContext, { result, facts, stopwatch }: On<'check.finished'>): Change {
  const attempt = context.attempt as Attempt;
  return evaluate(context, stopwatch, answered(attempt, attempt.pending as PendingCheck, result, facts));
}

/** A pending check has run into its deadline; else the attempt was held. */
export function resumeAttempt(context: WorkerContext, { facts, stopwatch }: On<'attempt.resumed'>): Change {
  const attempt = context.attempt as Attempt;
  const { pending } = attempt;
  if (pending === null) return evaluate(context, stopwatch, { ...attempt, facts });
  const timeout: CheckResult = { attempt: attempt.attempt, check: pending.name, outcome: 'timeout' };
  return evaluate(context, stopwatch, answered(attempt, pending, timeout, facts));
}

function answered(attempt: Attempt, pending: PendingCheck, result: CheckResult, facts: Facts): Attempt {
  if (pending.by === 'hooks')
    return { ...attempt, facts, hookResults: { ...attempt.hookResults, [pending.key]: result } };
  const { check } = pending;
  return { ...attempt, facts, findings: { ...attempt.findings, [check.name]: findingOf(check, result) } };
}

function evaluate(context: WorkerContext, stopwatch: Stopwatch, from: Attempt): Change {
  const { attempt, ruling, failureStreak: streak } = evaluateGuards(context, from, stopwatch);
  const failureStreak = attempt.checksPassed ? null : streak;
  if (ruling === null) return { attempt, failureStreak };
  return { failureStreak, ...decide({ ...context, failureStreak }, attempt, ruling) };
}

/** A newer attempt, or a prompt, takes the place of the open one. */
export function supersedeAttempt(context: WorkerContext, { facts }: On<'attempt.superseded'>): Change {
  const ruling = {
    decision: 'block',
    action: 'continue',
    cause: 'superseded',
    reason: 'A newer attempt or prompt took the place of this one',
    nextPrompt: null,
    guard: null,
  } as const;
  return decide(context, { ...(context.attempt as Attempt), facts }, ruling);
}

/** The session ends or the worker is retired, whatever was open. */
export function closeSession(context: WorkerContext, { as, facts, atMs }: On<'session.closed'>): Change {
  const closed = { ended: as, escalation: null, awaitsInput: false, background: empty, tasks: empty, attempt: null };
  const freed = context.tasks.length > 0 ? { ...resetCounts, activeMs: atMs } : {};
  if (context.attempt === null) return { ...closed, ...freed };
  const reason = as === 'retired' ? 'The worker was retired' : 'The session ended';
  const verdict = { guard: 'retired', verdict: 'allow', detail: reason, input: { ended: as } } as const;
  const attempt: Attempt = { ...context.attempt, facts, verdicts: [...context.attempt.verdicts, verdict] };
  const ruling = {
    decision: 'allow',
    action: 'complete',
    cause: 'retired',
    reason,
    nextPrompt: null,
    guard: 'retired',
  } as const;
  return { ...decide(context, attempt, ruling), ...closed, ...freed, lastDisposition: 'held' };
}
