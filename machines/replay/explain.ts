/** Explains a decision in text: what was decided, why, what would let the worker stop, and what happened since. */
import type { Decision } from '../guards/decision.ts';
import {
  checksNotRun,
  describeOutcome,
  isForPerson,
  missingIn,
  sentence,
  whatWasDone,
  withoutStop,
} from './standing.ts';
import type { WorkerView } from './views.ts';

/** The current state of the worker. */
type Now = Pick<WorkerView, 'state' | 'lastSeen' | 'lastDecision' | 'resolution' | 'standing'>;

/**
 * Returns complete sentences.
 * @param now null if the current state is unknown; then the decision's demands are taken to be still open
 */
export function explainDecision(decision: Decision, now: Now | null = null): string[] {
  const { worker, attempt, at, verdicts, reason, retry, state } = decision;
  const last = verdicts.at(-1);
  const before = verdicts.slice(0, -1);
  const passed = before.filter(({ verdict }) => verdict === 'pass').map(({ guard }) => guard);
  const notRun = checksNotRun(decision);
  const tried = decision.dryRun
    ? `If ${worker} tried to stop at ${at}`
    : `${worker} tried to stop at ${at} (attempt ${attempt})`;
  return [
    `${tried}: ${decision.decision} · ${decision.action} · ${decision.cause}.`,
    last === undefined
      ? `No guard was evaluated: ${reason}.`
      : `The guard "${last.guard}" decided: ${sentence(reason || last.detail)}`,
    ...before
      .filter(({ verdict }) => verdict !== 'pass')
      .map(({ guard, verdict, detail }) => `Before it, "${guard}" found (${verdict}): ${sentence(detail)}`),
    ...(passed.length === 0 ? [] : [`These passed before it: ${passed.join(', ')}.`]),
    ...(isJudged(decision) ? [] : ['No check was run.']),
    ...(notRun.length === 0 ? [] : [`Checks that were not run: ${notRun.join(', ')}.`]),
    `It left the worker ${state}, ${decision.decision === 'block' ? 'with' : 'after'} ${blockedStops(retry)}.`,
    ...(now === null || isCurrent(decision, now) ? currentOutlook(decision) : pastOutlook(decision, now)),
  ];
}

const blockedStops = ({ count, max }: Decision['retry']): string =>
  max === null
    ? `${count} blocked ${count === 1 ? 'stop' : 'stops'}, without a cap`
    : `${count} of ${max} blocked stops`;

/** Tells whether the evaluation reached the checks. */
const isJudged = ({ verdicts }: Decision): boolean => verdicts.some(({ guard }) => guard === 'checks');

/** Tells whether nothing relevant has happened since the decision. */
const isCurrent = (decision: Decision, { state, lastSeen, lastDecision }: Now): boolean =>
  lastDecision?.seq === decision.seq && state === decision.state && lastSeen <= decision.at;

function currentOutlook(decision: Decision): string[] {
  if (decision.action === 'escalate') return ['It may stop; a person still has to answer: resume it, or let it stop.'];
  const missing = missingIn(decision);
  if (missing.length > 0) return [`It may stop once this is settled: ${missing.map(withoutStop).join('; ')}.`];
  return isClean(decision) ? ['Nothing keeps it from stopping.', ...cleanNote(decision)] : [describeOutcome(decision)];
}

/** Says what the decision demanded, and what has happened since. */
function pastOutlook(decision: Decision, now: Now): string[] {
  const missing = missingIn(decision);
  const then =
    missing.length > 0
      ? `It might have stopped once this was settled: ${missing.map(withoutStop).join('; ')}.`
      : isClean(decision)
        ? 'Nothing stood in its way then.'
        : describeOutcome(decision);
  const persons = now.standing.waits
    .filter(isForPerson)
    .map(({ text }) => `Now it waits for a person: ${sentence(text)}`);
  const since = [...laterDecision(decision, now), ...answer(decision, now), ...persons];
  return [[then, ...since, ...(persons.length > 0 ? [] : [currentState(decision, now)])].join(' ')];
}

const isClean = ({ cause }: Decision): boolean => cause === 'complete' || cause === 'no-policy';

const cleanNote = (decision: Decision): string[] => (decision.cause === 'complete' ? [] : [describeOutcome(decision)]);

function laterDecision({ seq }: Decision, { lastDecision }: Now): string[] {
  if (lastDecision === null || lastDecision.seq === seq) return [];
  const { attempt, decision, action, cause } = lastDecision;
  return [`It has tried again since (attempt ${attempt}): ${decision} · ${action} · ${cause}.`];
}

function answer({ action, at }: Decision, { resolution }: Now): string[] {
  if (action !== 'escalate' || resolution === null || resolution.at < at) return [];
  return [`${resolution.by} ${whatWasDone(resolution)} at ${resolution.at}.`];
}

function currentState({ worker, at }: Decision, { state, lastSeen }: Now): string {
  if (state === 'stopped') return 'Now it is stopped.';
  const since = lastSeen > at ? 'Since then it has sent more entries' : `Now it is ${state}`;
  return `${since}; "stopgate probe ${worker}" asks again.`;
}
