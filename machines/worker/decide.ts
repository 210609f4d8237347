/** Ends an attempt: makes the decision, and updates counts and held tasks (protocol.md §4 and §5). */
import type { Attempt } from '../guards/attempt.ts';
import type { Decision, GuardName } from '../guards/decision.ts';
import { countOf } from '../guards/evaluate.ts';
import type { Ruling } from '../guards/guard.ts';
import { idleOf } from '../guards/idle.ts';
import { stateAfter } from '../guards/outcome.ts';
import { isBudgetPeriod } from '../policy/budget.ts';
import { type Escalation, escalate } from '../values/escalation.ts';
import type { TaskDisposition } from '../values/states.ts';
import { formatIsoTime } from '../values/time.ts';
import { type Change, resetCounts, withHeldAtEnd, withoutTasks } from './changes.ts';
import type { WorkerContext } from './context.ts';
import { fitDecision } from './fit-decision.ts';
import { withPauseHint } from './pause-hint.ts';

/** `guard` is null if no guard decided. */
type GuardRuling = Ruling & { readonly guard: GuardName | null };

/**
 * @param attempt the attempt at its end, with current facts
 * @param failureStreak the streak after this attempt; reset if the stop is allowed
 */
export function decide(
  context: WorkerContext,
  attempt: Attempt,
  ruling: GuardRuling,
  failureStreak = context.failureStreak,
): Change {
  const lastDecision = fitDecision(decisionOf(context, attempt, ruling));
  const lastDisposition = dispositionOf(ruling);
  const freed = losesTasks(lastDisposition) && context.tasks.length > 0;
  const counts = countsAfter(context, ruling, failureStreak);
  return {
    attempt: null,
    lastDecision,
    lastDisposition,
    lastJudgedTasks: attempt.judgedTasks,
    retryCount: counts.retryCount,
    keepAlives: counts.keepAlives,
    failureStreak: counts.failureStreak,
    // An already escalated worker keeps its escalation.
    escalation: ruling.action === 'escalate' ? (context.escalation ?? escalationOf(lastDecision)) : null,
    ...(freed ? withoutTasks(context, context.tasks) : { tasks: context.tasks, plan: context.plan }),
    heldAtEnd: heldAtEndAfter(context, lastDisposition),
    activeMs: freed ? attempt.facts.nowMs : context.activeMs,
  };
}

/** Tells whether the worker loses its tasks. */
export const losesTasks = (disposition: TaskDisposition): boolean =>
  disposition !== 'held' && disposition !== 'blocked';

/** Keeps the tasks that the decision takes from the worker without completing them, for `verify`. */
export const heldAtEndAfter = (worker: WorkerContext, disposition: TaskDisposition): readonly string[] =>
  disposition === 'escalated' || disposition === 'released' ? withHeldAtEnd(worker, worker.tasks) : worker.heldAtEnd;

export function escalationOf({ seq, at, reason, cause, attempt, worker, verdicts }: Decision): Escalation {
  const made = escalate({ seq: seq ?? 0, since: at, reason, cause, attempt, worker });
  if (cause !== 'budget') return made;
  const per = verdicts.at(-1)?.input?.per;
  return isBudgetPeriod(per) ? { ...made, budget: per } : made;
}

function decisionOf(context: WorkerContext, attempt: Attempt, ruling: GuardRuling): Decision {
  const { decision, action, cause, reason } = ruling;
  const { policy, name, seq } = attempt.inForce;
  const { facts } = attempt;
  const count = countOf(ruling);
  return {
    v: 1,
    fleet: context.fleet,
    worker: context.worker,
    task: facts.tasks.at(-1)?.task ?? null,
    tasks: facts.tasks.map(({ task }) => task),
    attempt: attempt.attempt,
    seq: attempt.seq,
    at: formatIsoTime(facts.nowMs),
    decision,
    action,
    cause,
    reason,
    nextPrompt: withPauseHint(context, attempt.inForce.policy, ruling),
    feedback: [...attempt.feedback],
    state: stateAfter(ruling),
    retry: { count: context.retryCount + (count === 'retryCount' ? 1 : 0), max: policy.retries },
    keepAlives: { count: context.keepAlives + (count === 'keepAlives' ? 1 : 0), max: policy.keepAlives },
    idle: idleOf(context, attempt.idleLimitMs, facts.nowMs),
    pendingTasks: facts.pendingTasks,
    policy: { name, seq },
    verdicts: [...attempt.verdicts],
    replica: '',
    tookMs: 0,
    dryRun: false,
  };
}

type Counts = Pick<WorkerContext, 'retryCount' | 'keepAlives' | 'failureStreak'>;

function countsAfter(
  { retryCount, keepAlives }: WorkerContext,
  ruling: GuardRuling,
  failureStreak: WorkerContext['failureStreak'],
): Counts {
  if (ruling.decision === 'allow')
    return ruling.action === 'continue' ? { retryCount, keepAlives, failureStreak } : resetCounts;
  const count = countOf(ruling);
  return {
    retryCount: retryCount + (count === 'retryCount' ? 1 : 0),
    keepAlives: keepAlives + (count === 'keepAlives' ? 1 : 0),
    failureStreak,
  };
}

export function dispositionOf({
  decision,
  action,
  cause,
}: Pick<Ruling, 'decision' | 'action' | 'cause'>): TaskDisposition {
  if (decision === 'block') return cause === 'incomplete' ? 'blocked' : 'held';
  if (action === 'escalate' || cause === 'capped') return 'escalated';
  if (cause === 'complete' || cause === 'no-policy') return 'completed';
  return cause === 'retired' || cause === 'bypassed' ? 'released' : 'held';
}
