/**
 * The standing of a worker or task: who waits for whom, and what would let it proceed. Derived from the view in this
 * file only, for the page, the command line, MCP and notices. Leaves out matters that a person has settled.
 */
import type { Decision } from '../guards/decision.ts';
import { type Plan, remainingStepsMessage } from '../policy/plan.ts';
import { runningWorkMessage } from '../policy/running-work.ts';
import { describeAmounts } from '../values/amounts.ts';
import type { Escalation, Resolution, TaskEscalation } from '../values/escalation.ts';
import { describePause, type PauseView } from '../values/pause.ts';
import { describeRequest, type InputRequest, questionIn, summarizeRequest } from '../values/questions.ts';
import type { State, ViewedPresence } from '../values/states.ts';
import { cutMiddle } from '../values/text.ts';
import { isInterrupt } from './interrupted.ts';
import { reasonThen } from './reason-then.ts';

/**
 * Kinds of waits for a person: `escalation`; requests of agents, which are `permission`, `question` or else `input`;
 * and `unattended` queues.
 */
export const personKinds = ['escalation', 'permission', 'question', 'input', 'unattended'] as const;
export type PersonKind = (typeof personKinds)[number];

export type Wait = {
  readonly kind: PersonKind | 'check' | 'hold' | 'background' | 'limit' | 'work' | 'task' | 'claim' | 'worker';
  /** Who has to act: `a person`, `check tests`, `worker w1`. */
  readonly whom: string;
  /** The reason, in one line. */
  readonly text: string;
  /** Null if unknown. */
  readonly since: string | null;
};
export type Standing = {
  readonly waits: readonly Wait[];
  /** What it needs to proceed, one line each. Empty if nothing is known to prevent it. */
  readonly missing: readonly string[];
  /** An additional sentence, e.g. how the last stop ended if nothing is missing. */
  readonly note: string | null;
};

const resumedByPerson = 'a person resumes it, or lets it stop';

/** The part of a `WorkerView` that is read here. */
export type StandingWorker = EscalatedWorker & {
  readonly presence: ViewedPresence;
  readonly ended: 'ended' | 'retired' | null;
  readonly inputs: readonly InputRequest[];
  readonly plan: Plan;
  readonly paused: PauseView | null;
  readonly attempt: {
    readonly waitsFor: string;
    readonly since: string;
    readonly pending: { readonly reason: string | null; readonly askedAgainAt: string } | null;
  } | null;
  readonly lastDecision: Decision | null;
};
/** The worker that a task was escalated with. */
type EscalatedWorker = {
  readonly state: State;
  readonly escalation: Escalation | null;
  readonly resolution: Resolution | null;
};
/** The part of a `TaskView` that is read here. */
export type StandingTask = {
  readonly state: State;
  readonly worker: string | null;
  readonly queue: string | null;
  readonly escalation: TaskEscalation | null;
  readonly outcome: string | null;
  /** Since when it waits: since the claim if it is held, otherwise since it entered its state or was created. */
  readonly since: string;
};

/** @param awaited names of the background work that its stops wait for */
export function standingOfWorker(view: StandingWorker, awaited: readonly string[] = []): Standing {
  const waits = waitsOfWorker(view, awaited);
  const { state, escalation, inputs, paused } = view;
  const forPerson = [
    ...(escalation === null ? [] : [resumedByPerson]),
    ...inputs.map((input) => `a person answers: ${cutMiddle(summarizeRequest(input), textMax)}`),
  ];
  const missing = state === 'stopped' ? [] : [...forPerson, ...missingOfWork(view, awaited)];
  if (paused !== null && isPaused(view))
    return { waits, missing, note: `It is ${describePause(paused)}: its stops are not judged.` };
  const note = missing.length === 0 ? noteOf(view) : hasWorkedSince(view, awaited) ? workedSince : null;
  return { waits, missing, note };
}

/** Tells whether a pause is in effect and no attempt from before it is open. */
const isPaused = ({ paused, attempt, state }: Pick<StandingWorker, 'paused' | 'attempt' | 'state'>): boolean =>
  paused !== null && attempt === null && state !== 'stopped';

/** Tells whether the worker may have done by now what was missing at its last attempt. */
const hasWorkedSince = (view: StandingWorker, awaited: readonly string[]): boolean =>
  view.state === 'working' && view.inputs.length === 0 && missingOfWork(view, awaited).length > 0;
const workedSince = 'That was so when it last tried to stop; it has worked since.';

/**
 * @param openAfter the uncompleted tasks in its `after`
 * @param partner the worker that its escalation names; null if unknown
 */
export function standingOfTask(
  view: StandingTask,
  openAfter: readonly string[],
  partner: EscalatedWorker | null,
): Standing {
  const wait = waitOfTask(view, openAfter);
  if (wait === null) return { waits: [], missing: [], note: view.outcome === null ? null : `It is ${view.outcome}.` };
  const missing = [wait.kind === 'escalation' ? resumedByPerson : `${wait.whom}: ${wait.text}`];
  return { waits: [wait], missing, note: view.escalation === null ? null : noteOnPartner(view.escalation, partner) };
}

export const isForPerson = ({ kind }: Pick<Wait, 'kind'>): boolean => (personKinds as readonly string[]).includes(kind);

/** Returns what prevented a stop: one line per failed check, or the reason. Empty if the stop was allowed. */
export function missingIn({
  decision,
  cause,
  feedback,
  reason,
}: Pick<Decision, 'decision' | 'cause' | 'feedback' | 'reason'>): string[] {
  if (decision === 'allow' || cause === 'superseded') return [];
  const lines = failuresIn({ feedback });
  return lines.length > 0 ? lines : [reason];
}

/** Returns the failures of checks and hooks, one line each. The stop may have been allowed nevertheless. */
export const failuresIn = ({ feedback }: Pick<Decision, 'feedback'>): string[] =>
  feedback
    .filter(({ outcome }) => outcome !== 'warn')
    .map(({ check, message }) => {
      const first = message.split('\n').find((line) => line.trim() !== '') ?? 'no message';
      return `${check}: ${first}`;
    });

/** Returns the names of checks that the evaluation did not reach. */
export function checksNotRun({ verdicts }: Pick<Decision, 'verdicts'>): string[] {
  const names = verdicts.find(({ guard }) => guard === 'checks')?.input?.notRun;
  return Array.isArray(names) ? names.map(String) : [];
}

/** Says what an allowed stop means for the work; for a dry run, what it would mean. */
export function describeOutcome(decision: Decision): string {
  const { cause, reason, action, feedback, dryRun } = decision;
  const was = (past: string, wouldBe: string) => (dryRun ? wouldBe : past);
  if (action === 'escalate') return was('A person was asked.', 'A person would be asked.');
  if (isInterrupt(decision)) return 'Its user interrupted it, so the stop was not judged.';
  const failures = failuresIn({ feedback }).map(withoutStop).join('; ');
  switch (cause) {
    case 'complete':
      return was('Nothing was missing.', 'Nothing is missing.');
    case 'no-policy':
      return was('Nothing was judged: no check or hook was set.', 'Nothing would be judged: no check or hook is set.');
    case 'unjudged':
      return `${was('Nobody knows', 'Nobody would know')} whether its work is complete. ${sentence(reason)}`;
    case 'idle-timeout':
      return was('Nothing was missing, and no task came in time.', 'Nothing is missing, and no task has come in time.');
    case 'capped': {
      const allowed = was('It was allowed at the cap', 'It would be allowed at the cap');
      return failures === ''
        ? `${allowed}: ${sentence(reason)}`
        : `${allowed}, ${was('and', 'although')} its work is not complete: ${failures}.`;
    }
    case 'superseded':
      return 'A newer attempt or prompt took its place.';
    default:
      return `It ${was('was', 'would be')} allowed without being judged: ${sentence(dryRun ? reason : reasonThen(decision))}`;
  }
}

/**
 * Tells whether the worker is still in the same escalation as the task. Its state does not say so, because a worker
 * keeps its escalation while another attempt is judged. If it was resolved and escalated again, it waits for something
 * else.
 */
const isEscalatedWith = ({ since }: Pick<Escalation, 'since'>, partner: EscalatedWorker | null): boolean =>
  partner !== null && partner.escalation !== null && partner.escalation.since <= since;

/** Requests are cut to this length. Their input may have 4,000 characters, more than a list or screen shows. */
const textMax = 500;

function waitsOfWorker(view: StandingWorker, awaited: readonly string[]): Wait[] {
  const { state, presence, escalation, inputs, attempt, lastDecision } = view;
  if (state === 'stopped') return [];
  const asked = inputs.map((input) => ({
    kind: kindOf(input),
    whom: 'a person',
    text: requestText(input),
    since: input.since,
  }));
  const pending = attempt === null ? [] : [waitOfAttempt(attempt)];
  // While the agent works, it does not wait for its background work.
  const running = state === 'idle' ? awaited : [];
  const outside: Wait[] = [
    ...running.map(
      (name): Wait => ({ kind: 'background', whom: `background work ${name}`, text: 'it ends', since: null }),
    ),
    ...(presence === 'limited'
      ? [{ kind: 'limit', whom: 'its usage limit', text: 'it ends', since: null } as const]
      : []),
  ];
  const lacks = state === 'blocked' ? missingOfBlock(view, awaited) : [];
  const work = lastDecision === null || lacks.length === 0 ? [] : [waitOfBlock(lastDecision, lacks)];
  return [...(escalation === null ? [] : [waitOfEscalation(escalation)]), ...asked, ...pending, ...outside, ...work];
}

const waitOfEscalation = (escalation: Escalation): Wait => ({
  kind: 'escalation',
  whom: 'a person',
  text: questionIn(reasonThen(escalation)) ?? escalation.reason,
  since: escalation.since,
});

function waitOfAttempt({ waitsFor, since, pending }: NonNullable<StandingWorker['attempt']>): Wait {
  if (waitsFor === 'hold') return { kind: 'hold', whom: 'a task', text: 'one arrives in its queue', since };
  if (pending === null) return { kind: 'check', whom: waitsFor, text: 'it answers', since };
  const why = pending.reason === null ? 'it cannot tell yet' : cutMiddle(pending.reason, textMax);
  return { kind: 'check', whom: waitsFor, text: `${why}; it is asked again at ${pending.askedAgainAt}`, since };
}

const waitOfBlock = ({ at }: Decision, lacks: readonly string[]): Wait => ({
  kind: 'work',
  whom: 'its agent',
  text: lacks.join('; '),
  since: at,
});

/** Returns the kind of a request. Everything but permissions and questions is `input`. */
export const kindOf = ({ kind }: InputRequest): Exclude<PersonKind, 'escalation' | 'unattended'> =>
  kind === 'permission' || kind === 'question' ? kind : 'input';

/** Describes a request in one line of limited length. */
export const requestText = (input: InputRequest): string => cutMiddle(describeRequest(input), textMax);

/**
 * Returns what is missing for the work to be complete, with the current number of remaining steps. The last block of an
 * idle worker no longer counts, because it continues with something else.
 */
function missingOfWork(view: StandingWorker, awaited: readonly string[]): string[] {
  const { state, plan } = view;
  if (state === 'idle') return [];
  const remaining = remainingStepsMessage(plan);
  return missingOfBlock(view, awaited).flatMap((line) => {
    if (!remainingSteps.test(line)) return [line];
    return remaining === null ? [] : [line.replace(remainingSteps, () => remaining)];
  });
}
/**
 * Returns what the last block demanded, except background work that stops no longer wait for. Empty while the worker is
 * paused.
 */
function missingOfBlock(view: StandingWorker, awaited: readonly string[]): string[] {
  const { lastDecision } = view;
  if (lastDecision === null || isPaused(view)) return [];
  if (lastDecision.decision === 'allow' || lastDecision.cause !== 'waiting') return missingIn(lastDecision);
  return awaited.length === 0 ? [] : [runningWorkMessage(awaited)];
}

const remainingSteps = /\d+ of \d+ plan steps remain: .*/;

function noteOf({ state, ended, resolution, attempt, lastDecision }: StandingWorker): string {
  if (attempt !== null && lastDecision?.decision !== 'allow') return 'It is trying to stop now.';
  if (lastDecision === null) return state === 'stopped' ? whyEnded(ended) : 'It has not tried to stop yet.';
  if (lastDecision.decision === 'block')
    return state === 'stopped'
      ? whyEnded(ended)
      : 'It was blocked when it last tried to stop, and waits for nothing now.';
  if (lastDecision.action !== 'escalate')
    return state === 'stopped' || state === lastDecision.state ? describeOutcome(lastDecision) : continued;
  if (resolution !== null) return describeResolution(resolution);
  return state === 'stopped' ? whyEnded(ended) : 'It asked for a person, and continues.';
}

const continued = 'It has continued since its last stop, which was allowed.';

const whyEnded = (ended: StandingWorker['ended']): string =>
  ended === 'retired' ? 'It was retired.' : 'Its session has ended.';

const describeResolution = (resolution: Resolution): string =>
  `It asked for a person: ${resolution.by} ${whatWasDone(resolution)}.`;

/** Says `resumed it`, `resumed it and granted usd 5`, or `let it stop`. */
export function whatWasDone({ verdict, granted }: Pick<Resolution, 'verdict' | 'granted'>): string {
  if (verdict === 'stop') return 'let it stop';
  return granted === undefined ? 'resumed it' : `resumed it and granted ${describeAmounts(granted)}`;
}

function waitOfTask(view: StandingTask, openAfter: readonly string[]): Wait | null {
  const { state, worker, queue, escalation, since } = view;
  if (state === 'stopped') return null;
  if (escalation !== null) return waitOfEscalation(escalation);
  if (worker !== null) return { kind: 'worker', whom: `worker ${worker}`, text: 'it holds the task', since };
  if (openAfter.length > 0) return { kind: 'task', whom: firstOf(openAfter), text: 'to be completed first', since };
  const text = queue === null ? 'it is in no queue, so no worker will take it' : `one of queue ${queue} claims it`;
  return { kind: 'claim', whom: 'a worker', text, since };
}

/** Limits the names shown: a task may depend on a thousand others. */
const namedMax = 3;
const firstOf = (tasks: readonly string[]): string =>
  [...tasks.slice(0, namedMax).map((id) => `task ${id}`), ...(tasks.length > namedMax ? ['…'] : [])].join(', ');

/** Returns null if the task was escalated alone, or its worker is still in the same escalation. */
function noteOnPartner(escalation: TaskEscalation, partner: EscalatedWorker | null): string | null {
  if (!escalation.withWorker || isEscalatedWith(escalation, partner)) return null;
  const { worker } = escalation;
  const { resolution = null } = partner ?? {};
  const answered = resolution === null || resolution.at < escalation.since ? null : resolution;
  const isEscalatedAgain = partner !== null && partner.escalation !== null;
  const what =
    answered === null
      ? isEscalatedAgain
        ? 'waits for something else now'
        : 'is no longer escalated'
      : `was ${answered.verdict === 'resume' ? 'resumed' : 'stopped'} by ${answered.by}`;
  return `Worker ${worker} ${what}; the task still waits.`;
}

export const sentence = (text: string): string => (/[?!]\s*$/.test(text) ? text.trimEnd() : `${withoutStop(text)}.`);

export const withoutStop = (text: string): string => text.trimEnd().replace(/[.]$/, '');
