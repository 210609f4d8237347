/** A task that is claimed while an attempt is open is judged by that attempt too (protocol.md §5). */
import type { Attempt } from '../guards/attempt.ts';
import type { Check, Findings } from '../policy/checks/check.ts';
import { joinChecks } from '../policy/checks/form.ts';
import { policyFor, type Surroundings } from './events.ts';

/**
 * Adds the checks of the task to the attempt and continues its evaluation at `checks`. Keeps answers from outside and
 * the awaited check. A held attempt does not change: its checks have passed, and it cannot complete a task.
 */
export function joinTask(attempt: Attempt, facts: Surroundings | undefined): Attempt {
  if (attempt.isHeld) return attempt;
  const { policy } = attempt.inForce;
  const isGiven = facts?.inForce !== undefined || facts?.policy !== undefined;
  const { policy: given, notes } = isGiven ? policyFor(facts) : attempt.inForce;
  const added = notes.filter((note) => !attempt.inForce.notes.includes(note));
  const known = new Set(policy.checks.map(contentOf));
  const checks = joinChecks([policy.checks, given.checks.filter((check) => !known.has(contentOf(check)))]);
  return {
    ...attempt,
    inForce: { ...attempt.inForce, policy: { ...policy, checks }, notes: [...attempt.inForce.notes, ...added] },
    findings: answersOf(policy.checks, attempt.findings),
    verdicts: [
      ...added.map((detail) => ({ guard: 'policy', verdict: 'error', detail }) as const),
      ...attempt.verdicts.filter(({ guard }) => guard !== 'checks'),
    ],
    guard: 'checks',
  };
}

/** Serializes a check without its names, which may differ between lists. */
const contentOf = (check: Check): string => JSON.stringify(check, (key, value) => (key === 'name' ? undefined : value));

/** Keeps findings from outside. All others depend on the plan and the task, which have changed. */
const answersOf = (checks: readonly Check[], findings: Readonly<Findings>): Findings =>
  Object.assign({}, ...checks.map((check) => answerOf(check, findings)));

function answerOf(check: Check, findings: Readonly<Findings>): Findings {
  if (check.kind === 'all' || check.kind === 'any') return answersOf(check.of, findings);
  const found = Object.hasOwn(findings, check.name) ? findings[check.name] : undefined;
  const isFromOutside = check.kind !== 'plan' && check.kind !== 'rules' && check.kind !== 'ran';
  const isAnswer = isFromOutside && found !== undefined && found.kind !== 'skip';
  return isAnswer ? { [check.name]: found } : {};
}
