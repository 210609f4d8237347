/** `any: [...]`: one member passes. */
import { z } from 'zod';
import type { Check, CheckKind, CheckScope, GroupOutcome } from './check.ts';
import type { Feedback } from './check-result.ts';

export const anyCheck: CheckKind<'any'> = {
  form: (_object, member) => z.array(member).min(1).optional(),
  normalize: (members, member) => ({ kind: 'any', of: members.map(member) }),
  evaluate: (check, scope) => evaluateAny(check.of, scope),
};

/** Members that are skipped, or in error and let pass, are left out; with none left it passes. */
function evaluateAny(checks: readonly Check[], scope: CheckScope): GroupOutcome {
  const failures: string[] = [];
  // Counts only if the whole group does not pass.
  const feedback: Feedback[] = [];
  let error: GroupOutcome | null = null;
  for (const check of checks) {
    const outcome = scope.evaluate(check, { ...scope, feedback });
    if (outcome.kind === 'pass' || outcome.kind === 'pending') return outcome;
    if (outcome.kind === 'warn') {
      scope.feedback.push(...feedback.filter((it) => it.outcome === 'warn'));
      return { kind: 'pass' };
    }
    if (outcome.kind === 'escalate') {
      scope.feedback.push(...feedback);
      return outcome;
    }
    if (outcome.kind === 'error') error ??= outcome;
    if (outcome.kind === 'fail') failures.push(outcome.message);
  }
  scope.feedback.push(...feedback);
  if (failures.length > 0) return { kind: 'fail', message: noneHoldsMessage(failures), feedback: null };
  return error ?? { kind: 'pass' };
}

/** Of conditions of which one had to hold. */
export const noneHoldsMessage = (failures: readonly string[]): string => failures.join('; or ');
