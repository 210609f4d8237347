/** Ends an attempt: the decision, the counts after it, and what happens to the held tasks (protocol.md §4 and §5). */
import type { Attempt } from '../guards/attempt.ts';
import type { Decision, GuardName, Verdict } from '../guards/decision.ts';
import { countOf } from '../guards/evaluate.ts';
import type { Ruling } from '../guards/guard.ts';
import { idleOf } from '../guards/idle.ts';
import { stateAfter } from '../guards/outcome.ts';
import { isBudgetPeriod } from '../policy/budget.ts';
import { cutDetails, type Feedback } from '../policy/checks/check-result.ts';
import { type Escalation, escalate } from '../values/escalation.ts';
import { decisionBytesMax, feedbackLengthMax, nextPromptLengthMax, reasonLengthMax } from '../values/limits.ts';
import type { TaskDisposition } from '../values/states.ts';
import { cutMiddle, jsonLengthMax, unitLengthMax, utf8Length } from '../values/text.ts';
import { formatIsoTime } from '../values/time.ts';
import { type Change, resetCounts, withHeldAtEnd, withoutTasks } from './changes.ts';
import type { WorkerContext } from './context.ts';

/** `guard` null: no guard decided. */
export type Decided = Ruling & { readonly guard: GuardName | null };

/**
 * @param attempt the attempt at its end, with current facts
 * @param failureStreak the streak after this attempt; reset if the stop is allowed
 */
export function decide(
  context: WorkerContext,
  attempt: Attempt,
  ruling: Decided,
  failureStreak = context.failureStreak,
): Change {
  const lastDecision = fitDecision(decisionOf(context, attempt, ruling));
  const lastDisposition = dispositionOf(ruling);
  const freed = frees(lastDisposition) && context.tasks.length > 0;
  const counts = countsAfter(context, ruling, failureStreak);
  return {
    attempt: null,
    lastDecision,
    lastDisposition,
    lastJudgedTasks: attempt.judgedTasks,
    retryCount: counts.retryCount,
    keepAlives: counts.keepAlives,
    failureStreak: counts.failureStreak,
    // A worker that is escalated already stays in the same escalation.
    escalation: ruling.action === 'escalate' ? (context.escalation ?? escalationOf(lastDecision)) : null,
    ...(freed ? withoutTasks(context, context.tasks) : { tasks: context.tasks, plan: context.plan }),
    heldAtEnd: heldAfter(context, lastDisposition),
    activeMs: freed ? attempt.facts.nowMs : context.activeMs,
  };
}

/** Tells whether the worker no longer holds its tasks after this. */
export const frees = (disposition: TaskDisposition): boolean => disposition !== 'held' && disposition !== 'blocked';

/** Keeps the tasks that it held for `verify`, if the decision takes them from it without completing them. */
export const heldAfter = (worker: WorkerContext, disposition: TaskDisposition): readonly string[] =>
  disposition === 'escalated' || disposition === 'released' ? withHeldAtEnd(worker, worker.tasks) : worker.heldAtEnd;

export function escalationOf({ seq, at, reason, cause, attempt, worker, verdicts }: Decision): Escalation {
  const made = escalate({ seq: seq ?? 0, since: at, reason, cause, attempt, worker });
  if (cause !== 'budget') return made;
  const per = verdicts.at(-1)?.input?.per;
  return isBudgetPeriod(per) ? { ...made, budget: per } : made;
}

function decisionOf(context: WorkerContext, attempt: Attempt, ruling: Decided): Decision {
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
    nextPrompt: promptOf(context, attempt, ruling),
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

/** The agents whose adapters read `/stopgate off` in a person's prompt. */
export const promptedAgents: ReadonlySet<string> = new Set([
  'claude',
  'codex',
  'copilot',
  'cursor',
  'gemini',
  'opencode',
  'qwen',
]);

const wayOut = 'A person can let it stop unjudged by typing /stopgate off.';

/** The prompt of a block names a person's way out where there is one, at the end of its first paragraph. */
function promptOf(worker: WorkerContext, attempt: Attempt, { decision, nextPrompt }: Decided): string | null {
  if (decision !== 'block' || nextPrompt === null) return nextPrompt;
  const works =
    worker.interactive !== false && promptedAgents.has(worker.agent ?? '') && attempt.inForce.policy.pause === 'allow';
  if (!works) return nextPrompt;
  const [first = '', ...others] = nextPrompt.split('\n\n');
  return [`${first} ${wayOut}`, ...others].join('\n\n');
}

type Counts = Pick<WorkerContext, 'retryCount' | 'keepAlives' | 'failureStreak'>;

function countsAfter(
  { retryCount, keepAlives }: WorkerContext,
  ruling: Decided,
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

// Shortens a decision to fit into one message and to be readable (docs/protocol.md §2).

/** The replica that answers fills in its name and the time that it took. */
const bytesMax = decisionBytesMax - 512;

/** Long texts are cut in the middle. If that is not enough, extra fields are dropped first, and then lists are cut. */
export function fitDecision(decision: Decision): Decision {
  const { reason, nextPrompt, feedback, verdicts } = decision;
  const cut = {
    ...decision,
    reason: cutMiddle(reason, reasonLengthMax),
    nextPrompt: nextPrompt === null ? null : cutMiddle(nextPrompt, nextPromptLengthMax),
    feedback: feedback.map(cutFeedback),
    verdicts: verdicts.map(cutDetail),
  };
  return shrinks.reduce((it, shrink) => (fits(it) ? it : shrink(it)), cut);
}

const fits = (decision: Decision): boolean => {
  if (lengthMax(decision) <= bytesMax) return true;
  const text = JSON.stringify(decision);
  return 3 * text.length <= bytesMax || utf8Length(text) <= bytesMax;
};

/** An upper bound of its bytes as JSON: adding up the lengths of its texts is much faster than making the JSON. */
function lengthMax({
  fleet,
  worker,
  task,
  tasks,
  attempt,
  policy,
  reason,
  nextPrompt,
  feedback,
  verdicts,
}: Decision): number {
  let units = fleet.length + worker.length + policy.name.length + reason.length;
  units += (task?.length ?? 0) + (attempt?.length ?? 0) + (nextPrompt?.length ?? 0);
  for (const held of tasks) units += held.length + 1;
  let inputs = 0;
  for (const { detail, input } of verdicts) {
    units += detail.length;
    if (input !== undefined) inputs += jsonLengthMax(input);
  }
  return besideTexts + unitLengthMax * units + besideDetail * verdicts.length + inputs + jsonLengthMax(feedback);
}

/** Keys, numbers and fixed texts, in bytes: of a decision, and of a verdict. */
const besideTexts = 1_000;
const besideDetail = 120;

const cutFeedback = (each: Feedback): Feedback => ({
  ...each,
  message: cutMiddle(each.message, feedbackLengthMax),
  details: cutDetails(each.details),
});

const cutDetail = (verdict: Verdict): Verdict => {
  const detail = cutMiddle(verdict.detail, reasonLengthMax);
  return detail === verdict.detail ? verdict : { ...verdict, detail };
};

const shownMax = 32;
const shortLengthMax = 200;

/** Applied in order until the decision fits. After the last one it does, because everything left has a bound. */
const shrinks: readonly ((decision: Decision) => Decision)[] = [
  (it) => ({ ...it, feedback: it.feedback.map((each) => ({ ...each, details: '…' })) }),
  (it) => ({
    ...it,
    verdicts: it.verdicts.map((each) => (each.input === undefined ? each : { ...each, input: { cut: '…' } })),
  }),
  (it) => ({
    ...it,
    feedback: cutList(it.feedback, { check: '…', outcome: 'fail', message: '…', details: {} }),
    verdicts: cutList(it.verdicts, { guard: 'policy', verdict: 'error', detail: '…' }),
    tasks: cutList(it.tasks, '…'),
  }),
  (it) => ({
    ...it,
    feedback: it.feedback.map((each) => ({ ...each, message: cutMiddle(each.message, shortLengthMax) })),
    verdicts: it.verdicts.map((each) => ({ ...each, detail: cutMiddle(each.detail, shortLengthMax) })),
  }),
];

function cutList<Item>(items: readonly Item[], middle: Item): Item[] {
  if (items.length <= shownMax) return [...items];
  const half = shownMax / 2;
  return [...items.slice(0, half), middle, ...items.slice(-half)];
}
