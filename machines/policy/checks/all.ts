/** `all: [...]`: every member passes. A policy's own list of checks is evaluated in the same way. */
import { z } from 'zod';
import type { Check, CheckKind, CheckScope, GroupOutcome } from './check.ts';

export const allCheck: CheckKind<'all'> = {
  form: (_object, member) => z.array(member).min(1).optional(),
  normalize: (members, member) => ({ kind: 'all', of: members.map(member) }),
  evaluate: (check, scope) => evaluateAll(check.of, scope),
};

/** In order, up to the first that fails, escalates or is pending; the first error is reported only where none does. */
export function evaluateAll(checks: readonly Check[], scope: CheckScope): GroupOutcome {
  let worst: GroupOutcome = { kind: 'pass' };
  for (const check of checks) {
    const outcome = scope.evaluate(check, scope);
    if (outcome.kind === 'fail' || outcome.kind === 'escalate' || outcome.kind === 'pending') return outcome;
    if (outcome.kind === 'error' && worst.kind === 'pass') worst = outcome;
  }
  return worst;
}
