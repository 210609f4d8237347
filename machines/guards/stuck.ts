/**
 * Guard 10: an agent that is blocked for the same reason again and again gets a person (policy `stuckAfter`). Evaluated
 * before a block of guards 8 or 9 is given, and listed only when it decides.
 */
import type { StuckAfter } from '../policy/policy.ts';
import type { FailureStreak } from './attempt.ts';
import { allow, decide, type Guard, type GuardScope, pass } from './guard.ts';
import { maskDetails } from './mask.ts';

export const stuck: Guard = (scope) => {
  const { stuckAfter } = scope.attempt.inForce.policy;
  const reason = stuckAfter === null ? null : failureOf(scope);
  if (stuckAfter === null || reason === null) return pass('nothing failed');
  const { times: max } = stuckAfter;
  const { count } = extendStreak(scope.worker.failureStreak, reason, stuckAfter);
  const input = { count, max };
  if (count < max) return pass(`blocked ${count} times in the same words`, input);
  return decide(allow('escalate', 'stuck', `Stuck: blocked ${count} times in the same words`), input);
};

/** @param message why the stop is blocked, whole: a decision may cut it */
export function extendStreak(
  streak: FailureStreak | null,
  message: string,
  stuckAfter: StuckAfter | null,
): FailureStreak {
  const reason = stuckAfter?.mask ? maskDetails(message) : message;
  return { reason, count: streak?.reason === reason ? streak.count + 1 : 1 };
}

/** Why guard 8 or 9 would block; null: neither does. */
function failureOf(scope: GuardScope): string | null {
  for (const guard of ['checks', 'hooks'] as const) {
    const result = scope.resultOf(guard);
    if (result.kind === 'decides') return result.ruling.decision === 'block' ? result.ruling.reason : null;
    if (result.kind !== 'pass') return null;
  }
  return null;
}
