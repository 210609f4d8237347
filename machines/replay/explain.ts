/** A decision as text: what was decided, why, and what would let the worker stop. */
import type { Decision } from '../guards/decision.ts';

/**
 * Five sentences at most, each whole.
 * @param lastSeen when the worker was last heard of, if that is known: after the decision, it may no longer hold
 */
export function explainDecision(decision: Decision, lastSeen = ''): string[] {
  const { worker, attempt, at, verdicts, reason, retry, state } = decision;
  const last = verdicts.at(-1);
  const passed = verdicts.slice(0, -1).map(({ guard }) => guard);
  const tried = decision.dryRun
    ? `If ${worker} tried to stop at ${at}`
    : `${worker} tried to stop at ${at} (attempt ${attempt})`;
  const missing = missingFor(decision);
  return [
    `${tried}: ${decision.decision} · ${decision.action} · ${decision.cause}.`,
    last === undefined
      ? `No guard was asked: ${reason}.`
      : `The guard "${last.guard}" decided: ${sentence(reason || last.detail)}`,
    ...(passed.length === 0 ? [] : [`These passed before it: ${passed.join(', ')}.`]),
    `It left the worker ${state}, with ${retry.count} of ${retry.max ?? 'any number of'} blocked stops.`,
    missing.length === 0 || decision.decision === 'allow'
      ? whyNothing(decision, lastSeen > at)
      : `It may stop once this is settled: ${missing.map(withoutStop).join('; ')}.`,
  ];
}

/** What would let it stop: one line for each check that failed, else the reason. Empty: it may stop. */
export function missingFor({ decision, action, feedback, reason }: Decision): string[] {
  if (decision === 'allow') return action === 'escalate' ? ['a person resumes it, or lets it stop'] : [];
  const lines = feedback.map(({ check, message }) => {
    const first = message.split('\n').find((line) => line.trim() !== '') ?? 'no message';
    return `${check}: ${first}`;
  });
  return lines.length > 0 ? lines : [reason];
}

function whyNothing({ worker, cause, action }: Decision, hasMovedOn: boolean): string {
  if (action === 'escalate') return 'It may stop; a person still has to answer: resume it, or let it stop.';
  if (cause === 'unjudged')
    return 'It may stop, but nobody knows whether its work is complete: a check could not be judged.';
  return hasMovedOn
    ? `Nothing stood in its way then. Since then it has sent more entries; "stopgate probe ${worker}" asks again.`
    : 'Nothing stands in its way.';
}

const sentence = (text: string): string => (/[?!]\s*$/.test(text) ? text.trimEnd() : `${withoutStop(text)}.`);

const withoutStop = (text: string): string => text.trimEnd().replace(/[.]$/, '');
