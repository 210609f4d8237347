/**
 * Guard 10: an agent that is blocked for the same reason again and again gets a person (policy `stuckAfter`). Evaluated
 * before a block of guards 8 or 9 is given, and listed only when it decides.
 */
import type { FailureStreak } from './attempt.ts';
import { allow, decide, type Guard, type GuardScope, pass } from './guard.ts';

export const stuck: Guard = (scope) => {
  const max = scope.attempt.inForce.policy.stuckAfter;
  const reason = max === null ? null : failureOf(scope);
  if (max === null || reason === null) return pass('nothing failed');
  const { count } = extendStreak(scope.worker.failureStreak, reason);
  const input = { count, max };
  if (count < max) return pass(`blocked ${count} times in the same words`, input);
  return decide(allow('escalate', 'stuck', `Stuck: blocked ${count} times in the same words`), input);
};

export const extendStreak = (streak: FailureStreak | null, reason: string): FailureStreak => ({
  reason,
  count: streak?.reason === reason ? streak.count + 1 : 1,
});

/** Why guard 8 or 9 would block; null: neither does. */
function failureOf(scope: GuardScope): string | null {
  for (const guard of ['checks', 'hooks'] as const) {
    const result = scope.resultOf(guard);
    if (result.kind === 'decides') return result.ruling.decision === 'block' ? result.ruling.reason : null;
    if (result.kind !== 'pass') return null;
  }
  return null;
}
