/** A task that is claimed while an attempt is open is judged by that attempt too (protocol.md §5). */
import type { Attempt } from '../guards/attempt.ts';
import type { Check, Findings } from '../policy/checks/check.ts';
import { joinChecks } from '../policy/checks/form.ts';
import type { Surroundings } from './events.ts';
import { policyFor } from './surroundings.ts';

/**
 * The attempt with the checks that the task brings along, to be judged from `checks` on again. What was answered from
 * outside stays answered, and what is being asked goes on. A held attempt is as it was: its checks are behind it, and it
 * does not complete a task.
 */
export function joinTask(attempt: Attempt, facts: Surroundings | undefined): Attempt {
  if (attempt.isHeld) return attempt;
  const { policy } = attempt.inForce;
  const given = facts?.inForce === undefined && facts?.policy === undefined ? policy : policyFor(facts).policy;
  const known = new Set(policy.checks.map(contentOf));
  const checks = joinChecks([policy.checks, given.checks.filter((it) => !known.has(contentOf(it)))]);
  return {
    ...attempt,
    inForce: { ...attempt.inForce, policy: { ...policy, checks } },
    findings: answersOf(policy.checks, attempt.findings),
    verdicts: attempt.verdicts.filter(({ guard }) => guard !== 'checks'),
    guard: 'checks',
  };
}

/** A check without its names: within another list it may have another one. */
const contentOf = (check: Check): string => JSON.stringify(check, (key, value) => (key === 'name' ? undefined : value));

/** Of the findings those that came from outside: the others look at the plan and the task, which have changed. */
const answersOf = (checks: readonly Check[], findings: Readonly<Findings>): Findings =>
  Object.assign({}, ...checks.map((check) => answerOf(check, findings)));

function answerOf(check: Check, findings: Readonly<Findings>): Findings {
  if (check.kind === 'all' || check.kind === 'any') return answersOf(check.of, findings);
  const found = Object.hasOwn(findings, check.name) ? findings[check.name] : undefined;
  const isAnswer = check.kind !== 'plan' && check.kind !== 'rules' && found !== undefined && found.kind !== 'skip';
  return isAnswer ? { [check.name]: found } : {};
}
