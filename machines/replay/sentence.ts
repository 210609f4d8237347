/**
 * Describes the state of a worker or task, or a decision, in one plain sentence. Lists, the page, `explain` and notices
 * show the same sentence. It contains no codes and times; they are shown next to it.
 */
import type { Decision } from '../guards/decision.ts';
import type { Feedback } from '../policy/checks/check-result.ts';
import { isDone, type Plan } from '../policy/plan.ts';
import { runningWorkMessage } from '../policy/running-work.ts';
import type { Escalation } from '../values/escalation.ts';
import { questionIn, summarizeRequest } from '../values/questions.ts';
import { cutMiddle } from '../values/text.ts';
import { failedTests, failingLine } from './failing-line.ts';
import { isInterrupt } from './interrupted.ts';
import { reasonThen } from './reason-then.ts';
import type { StandingTask, StandingWorker } from './standing.ts';

/** The part of a `WorkerView` that is read here. */
type WorkerFacts = Omit<StandingWorker, 'attempt' | 'paused'> & {
  readonly tasks: readonly string[];
  readonly retry: { readonly count: number; readonly max: number | null };
  readonly attempt: { readonly waitsFor: string } | null;
};

/** The part of a `TaskView` that is read here. */
type TaskFacts = Omit<StandingTask, 'since'>;

/** Lists show one line. Only questions are longer, and a panel shows them completely. */
const lengthMax = 240;
const cut = (text: string): string => cutMiddle(text.replace(/\s+/g, ' ').trim(), lengthMax);

/** @param awaited names of the background work that its stops wait for */
export function sentenceOfWorker(worker: WorkerFacts, awaited: readonly string[]): string {
  const { state, escalation, inputs, attempt, lastDecision } = worker;
  const [asked] = inputs;
  if (state === 'stopped') return cut(whyStopped(worker));
  if (escalation !== null) return cut(whyEscalated(escalation, lastDecision));
  if (asked !== undefined) return cut(`Asks: ${summarizeRequest(asked)}`);
  if (attempt !== null)
    return attempt.waitsFor === 'hold' ? 'Held: a task may still come' : `Waits for ${attempt.waitsFor}`;
  if (state === 'blocked' && lastDecision !== null) return cut(whyBlocked(lastDecision, awaited));
  return cut(state === 'idle' ? whyIdle(worker, awaited) : activityOf(worker));
}

/** @param openAfter the uncompleted tasks in its `after` */
export function sentenceOfTask(task: TaskFacts, openAfter: readonly string[]): string {
  const { state, worker, queue, escalation, outcome } = task;
  if (state === 'stopped') return outcome === 'completed' ? 'Completed' : outcome === null ? 'Ended' : 'Cancelled';
  if (escalation !== null) return cut(questionOf(withoutCap(reasonThen(escalation))));
  if (worker !== null) return `Held by ${worker}`;
  const [first] = openAfter;
  if (first !== undefined)
    return openAfter.length === 1 ? `Comes after ${first}` : `Comes after ${first} and ${openAfter.length - 1} more`;
  return queue === null ? 'In no queue, so no worker will take it' : `Waits for a worker of queue ${queue}`;
}

/** Describes a decision and its reason: "Blocked twice: login.test.ts fails in tests; 1 try left". */
export function sentenceOfDecision(decision: Decision): string {
  const { cause, action, reason, retry } = decision;
  const failure = failureIn(decision);
  if (decision.decision === 'block')
    return cause === 'incomplete' || cause === 'stuck'
      ? `Blocked ${times(retry.count)}: ${failure}${triesLeft(retry)}`
      : `Told to continue: ${lowercaseFirst(reason)}`;
  if (isInterrupt(decision)) return 'Interrupted by its user: the stop was not judged';
  switch (cause) {
    case 'complete':
      return 'Allowed: all that the policy asks for is done';
    case 'no-policy':
      return 'Allowed: nothing was set to be checked';
    case 'capped':
      if (decision.feedback.length === 0 && !capped.test(reason)) return `Allowed: ${lowercaseFirst(reason)}`;
      return `${action === 'escalate' ? 'Needs a person' : 'Allowed'} after ${blocks(retry.count)}: ${failure}`;
    case 'stuck':
      return `Stuck on the same failure: ${failure}`;
    case 'escalated':
      return questionOf(reason);
    case 'unjudged':
      return `Not judged: ${failure}`;
    default:
      return reason === '' ? `Allowed: ${cause}` : reasonThen(decision);
  }
}

/** Returns the agent's question, or the reason if the agent only asked for a person. */
const questionOf = (reason: string): string =>
  (questionIn(reason) ?? reason).replace(/:? *<promise>[^<]*<\/promise> *$/, '');

function whyStopped({ ended, lastDecision, resolution }: WorkerFacts): string {
  if (resolution?.verdict === 'stop') return `Stopped by ${resolution.by}`;
  if (ended === 'retired') return 'Retired by an operator';
  if (lastDecision === null) return 'Its session ended before it tried to stop';
  if (lastDecision.decision === 'block') return 'Its session ended while it was blocked';
  // The question is closed.
  return lastDecision.action === 'escalate'
    ? 'Its session has ended since it asked for a person'
    : sentenceOfDecision(lastDecision);
}

/** The background work that caused the block may have ended since. */
function whyBlocked(last: Decision, awaited: readonly string[]): string {
  if (last.cause !== 'waiting') return sentenceOfDecision(last);
  return awaited.length === 0 ? waitIsOver : `Told to continue: ${runningWorkMessage(awaited)}`;
}

const waitIsOver = 'It has what it waited for, and can continue';

/** For some causes, the sentence of the decision says more than the reason of the escalation. */
const whyEscalated = (escalation: Escalation, last: Decision | null): string =>
  last !== null &&
  last.attempt === escalation.attempt &&
  (escalation.cause === 'capped' || escalation.cause === 'stuck')
    ? sentenceOfDecision(last)
    : questionOf(reasonThen(escalation));

function whyIdle({ presence, lastDecision, resolution, plan }: WorkerFacts, background: readonly string[]): string {
  if (presence === 'limited') return 'Paused: it has reached its usage limit';
  const [first] = background;
  if (first !== undefined)
    return `Waits for ${background.length === 1 ? first : `${first} and ${background.length - 1} more`} in the background`;
  if (lastDecision === null) return plan.length === 0 ? 'Has not tried to stop yet' : stepsOf(plan);
  if (lastDecision.decision !== 'allow') return 'Idle since it was blocked';
  // The cause of its last stop may no longer apply.
  if (lastDecision.action === 'escalate')
    return resolution === null ? 'It asked for a person, and has continued' : `Resumed by ${resolution.by}`;
  switch (lastDecision.cause) {
    case 'limited':
      return 'Its usage limit is over: it can continue';
    case 'waiting':
      return waitIsOver;
    case 'retired':
      return 'Back in service';
    default:
      return sentenceOfDecision(lastDecision);
  }
}

function activityOf({ presence, state, plan, tasks, retry, lastDecision }: WorkerFacts): string {
  if (presence === 'limited') return 'Paused: it has reached its usage limit';
  if (state === 'validating') return 'Is being judged';
  const [task] = tasks.slice(-1);
  const doing = plan.length > 0 ? stepsOf(plan) : task === undefined ? 'At work' : `At work on ${task}`;
  const wasBlocked = retry.count > 0 && lastDecision?.cause === 'incomplete';
  return wasBlocked ? `${doing}; blocked ${times(retry.count)} before` : doing;
}

const stepsOf = (plan: Plan): string => `${plan.filter(isDone).length} of ${plan.length} steps done`;

const times = (count: number): string => (count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`);
const blocks = (count: number): string =>
  count === 0 ? 'no block' : `${count} blocked ${count === 1 ? 'stop' : 'stops'}`;

function triesLeft({ count, max }: Decision['retry']): string {
  if (max === null) return '';
  const left = Math.max(0, max - count);
  return `; ${left === 0 ? 'no try' : left === 1 ? '1 try' : `${left} tries`} left`;
}

const capped = /^(?:Retry limit reached \(\d+ of \d+\)|The policy blocks no stop): /;
export const withoutCap = (reason: string): string => reason.replace(capped, '');
/** Prepares a sentence for use after a colon. Leaves names and acronyms unchanged. */
const lowercaseFirst = (text: string): string =>
  /^[A-Z][a-z]+ /.test(text) ? text[0]?.toLowerCase() + text.slice(1) : text;

// Names the failure: the failing test or line in a command's output rather than "Command tests failed (exit 1)".

/** Describes what did not pass. Without feedback, that is the reason of the decision. */
function failureIn({ feedback, reason }: Pick<Decision, 'feedback' | 'reason'>): string {
  const failed = feedback.filter(({ outcome }) => outcome !== 'warn');
  const [first] = failed;
  if (first === undefined) return lowercaseFirst(withoutCap(reason));
  const others = failed.length - 1;
  return `${describeFailure(first)}${others === 0 ? '' : `, and ${others} more ${others === 1 ? 'check' : 'checks'}`}`;
}

function describeFailure({ check, message, details }: Feedback): string {
  const output = typeof details === 'string' ? details : '';
  const [first, ...others] = failedTests(`${output}\n${message}`);
  if (first !== undefined)
    return others.length === 0 ? `${first} fails in ${check}` : `${first} and ${others.length} more fail in ${check}`;
  const line = command.test(message) ? (failingLine(output) ?? message) : firstLineOf(message);
  return steps.test(message) ? message : `${check}: ${line ?? 'it did not say why'}`;
}

const firstLineOf = (text: string): string | undefined =>
  text
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '');

/** Reasons that only say that something failed, and reasons that need no name of a check. */
const command = /^Command .* failed \(exit \d+\)$/;
const steps = /^\d+ of \d+ plan steps remain: /;
