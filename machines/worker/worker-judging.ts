/**
 * Judging a worker's attempt, from its opening to its decision: what the guards say becomes the decision, the counts
 * after it and the disposition of the held tasks (protocol 4 and 5).
 */

import type { Ask, Attempt, Facts, Ruling } from '../guards/attempt.ts';
import type { Decision, GuardName } from '../guards/decision.ts';
import { idleOf, judge } from '../guards/guards.ts';
import type { CheckResult, Feedback } from '../policy/checks/check-result.ts';
import { findingOf } from '../policy/checks/evaluate.ts';
import { idleLimitOf } from '../policy/persistence.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import type { State } from '../values/states.ts';
import type { TaskDisposition } from '../values/task-disposition.ts';
import { escalateBy } from './escalation.ts';
import { type Change, countsAnew, empty, type On, type WorkerContext } from './worker-data.ts';

const noFindings = Object.freeze({});

/** `guard`: the first that is asked. */
export function openAttempt(context: WorkerContext, event: On<'stop.attempted'>, guard: GuardName = 'retired'): Change {
  const { attempt, seq, fields, inForce, facts } = event;
  const { persistence } = inForce.policy;
  const notes = inForce.notes.map((detail) => ({ guard: 'policy', verdict: 'error', detail }) as const);
  return judgeFrom(context, facts, {
    attempt,
    seq,
    atMs: facts.nowMs,
    fields,
    inForce,
    idleLimitMs: idleLimitOf(inForce.policy, context.profile),
    holdUntilMs: facts.nowMs + (persistence === null ? 0 : (fields.holdMs ?? persistence.holdMs)),
    guard,
    verdicts: notes,
    feedback: empty,
    findings: noFindings,
    hookResults: noFindings,
    asks: 0,
    asked: null,
    holding: false,
    passed: false,
    checkpoint: null,
    opinions: empty,
  });
}

export function answerAsked(context: WorkerContext, { result, facts }: On<'check.finished'>): Change {
  const attempt = context.attempt as Attempt;
  return judgeFrom(context, facts, answered(attempt, attempt.asked as Ask, result));
}

export function resume(context: WorkerContext, { facts }: On<'attempt.resumed'>): Change {
  const attempt = context.attempt as Attempt;
  const { asked } = attempt;
  if (asked === null) return judgeFrom(context, facts, attempt);
  const timeout: CheckResult = { attempt: attempt.attempt, check: asked.name, outcome: 'timeout' };
  return judgeFrom(context, facts, answered(attempt, asked, timeout));
}

function answered(attempt: Attempt, asked: Ask, result: CheckResult): Attempt {
  if (asked.by === 'hooks') return { ...attempt, hookResults: { ...attempt.hookResults, [asked.key]: result } };
  return { ...attempt, findings: { ...attempt.findings, [asked.check.name]: findingOf(asked.check, result) } };
}

function judgeFrom(context: WorkerContext, facts: Facts, from: Attempt): Change {
  const { attempt, ruling, stuck } = judge(context, from, facts);
  const row = attempt.passed ? null : stuck;
  if (ruling === null) return { attempt, stuck: row };
  return { stuck: row, ...decide({ ...context, stuck: row }, attempt, ruling, facts) };
}

type Decided = Ruling & { readonly guard: GuardName | null };

/** Ends the attempt: the decision, the counts after it, and what becomes of the held tasks. */
function decide(context: WorkerContext, attempt: Attempt, ruling: Decided, facts: Facts): Change {
  const lastDecision = decisionOf(context, attempt, ruling, facts);
  const lastDisposition = dispositionOf(ruling);
  const freed = lastDisposition === 'completed' || lastDisposition === 'escalated' || lastDisposition === 'released';
  return {
    attempt: null,
    lastDecision,
    lastDisposition,
    lastCheckpoint: attempt.checkpoint,
    lastOpinions: attempt.opinions,
    ...countsAfter(context, ruling),
    // One that is asked again is still the same.
    escalation: ruling.action === 'escalate' ? (context.escalation ?? escalateBy(lastDecision)) : null,
    ...(freed && context.tasks.length > 0 ? { tasks: empty, activeMs: facts.nowMs } : {}),
  };
}

function decisionOf(context: WorkerContext, attempt: Attempt, ruling: Decided, facts: Facts): Decision {
  const { decision, action, cause, reason, nextPrompt } = ruling;
  const { policy, name, seq } = attempt.inForce;
  return {
    v: 1,
    fleet: context.fleet,
    worker: context.worker,
    task: facts.task?.task ?? null,
    attempt: attempt.attempt,
    seq: attempt.seq,
    at: formatIsoTime(facts.nowMs),
    decision,
    action,
    cause,
    reason,
    nextPrompt,
    feedback: fitFeedback(attempt.feedback),
    state: stateAfter(ruling),
    retry: { count: context.retryCount + (countsAsRetry(ruling) ? 1 : 0), max: policy.retries },
    idle: idleOf(context, attempt.idleLimitMs, facts.nowMs),
    pendingTasks: facts.pendingTasks,
    policy: { name, seq },
    verdicts: attempt.verdicts.slice(),
    replica: '',
    tookMs: 0,
    dryRun: false,
  };
}

const detailsLengthMax = 100_000;

/** A decision must fit into one message: details past a size that no reader needs are left out, the words stay. */
function fitFeedback(feedback: readonly Feedback[]): Feedback[] {
  let length = 0;
  return feedback.map((each) => {
    length += JSON.stringify(each.details)?.length ?? 0;
    if (length <= detailsLengthMax) return each;
    return { ...each, details: { note: 'left out: the feedback of this decision is too large' } };
  });
}

function stateAfter({ decision, action, cause }: Ruling): State {
  if (cause === 'superseded') return 'validating';
  if (decision === 'block') return 'blocked';
  return action === 'complete' ? 'stopped' : action === 'escalate' ? 'escalated' : 'idle';
}

const countsAsRetry = ({ decision, guard }: Decided) =>
  decision === 'block' && (guard === 'checks' || guard === 'hooks');

function countsAfter(context: WorkerContext, ruling: Decided): Change {
  if (ruling.decision === 'allow') return ruling.action === 'continue' ? {} : countsAnew;
  if (countsAsRetry(ruling)) return { retryCount: context.retryCount + 1 };
  return ruling.guard === null ? {} : { keepAlives: context.keepAlives + 1 };
}

function dispositionOf({ decision, action, cause }: Ruling): TaskDisposition {
  if (decision === 'block') return cause === 'incomplete' ? 'blocked' : 'held';
  if (action === 'escalate' || cause === 'capped') return 'escalated';
  if (cause === 'complete' || cause === 'no-policy') return 'completed';
  return cause === 'retired' || cause === 'bypassed' ? 'released' : 'held';
}

export function supersede(context: WorkerContext, { facts }: On<'attempt.superseded'>): Change {
  const reason = 'A newer attempt or prompt took the place of this one';
  const ruling = {
    decision: 'block',
    action: 'continue',
    cause: 'superseded',
    reason,
    nextPrompt: null,
    guard: null,
  } as const;
  return context.attempt === null ? {} : decide(context, context.attempt, ruling, facts);
}

/** The session ends or the worker is retired, whatever was open. */
export function close(context: WorkerContext, { as, facts, atMs }: On<'session.closed'>): Change {
  const closed = { ended: as, escalation: null, awaitsInput: false, background: empty, tasks: empty, attempt: null };
  const freed = context.tasks.length > 0 ? { ...countsAnew, activeMs: atMs } : {};
  if (context.attempt === null) return { ...closed, ...freed };
  const reason = as === 'retired' ? 'The worker was retired' : 'The session ended';
  const attempt: Attempt = {
    ...context.attempt,
    verdicts: [
      ...context.attempt.verdicts,
      { guard: 'retired', verdict: 'allow', detail: reason, input: { ended: as } },
    ],
  };
  const ruling = {
    decision: 'allow',
    action: 'complete',
    cause: 'retired',
    reason,
    nextPrompt: null,
    guard: 'retired',
  } as const;
  return { ...decide(context, attempt, ruling, facts), ...closed, ...freed, lastDisposition: 'held' };
}
