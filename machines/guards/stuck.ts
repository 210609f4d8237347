/**
 * Guard `stuck`: if an agent is blocked for the same reason again and again, a person is asked (policy `stuckAfter`).
 * Evaluated before a block of `checks` or `hooks` is given, and listed only when it decides.
 */
import type { StuckAfter } from '../policy/policy.ts';
import { digestOf } from '../values/digest.ts';
import type { FailureStreak } from './attempt.ts';
import { failureOf, nothingFailed, reasonsOf } from './failure.ts';
import { allow, decide, type Guard, pass } from './guard.ts';
import { maskDetails } from './mask.ts';

export const stuck: Guard = (scope) => {
  const { stuckAfter } = scope.attempt.inForce.policy;
  const failure = stuckAfter === null ? null : failureOf(scope);
  if (stuckAfter === null || failure === null) return nothingFailed;
  const { times: max } = stuckAfter;
  const { count } = extendStreak(scope.worker.failureStreak, reasonsOf(failure), stuckAfter);
  const input = { count, max };
  if (count < max) return pass(`blocked ${count} times in the same words`, input);
  return decide(allow('escalate', 'stuck', `Stuck: blocked ${count} times in the same words`), input);
};

/** @param reasons why the stop is blocked, not cut as in the decision */
export function extendStreak(
  streak: FailureStreak | null,
  reasons: readonly string[],
  stuckAfter: StuckAfter | null,
): FailureStreak {
  const reason = keyOf(reasons, stuckAfter?.mask ?? false);
  return { reason, count: streak?.reason === reason ? streak.count + 1 : 1 };
}

/** How many characters of all reasons are masked; the rest is compared as it is. */
const maskedMax = 16_384;
/** Longer reasons are compared by their hash, since the worker's state holds them. */
const keptMax = 500;

function keyOf(reasons: readonly string[], mask: boolean): string {
  const keys = new Map<string, string>();
  let left = mask ? maskedMax : 0;
  for (const reason of reasons) {
    if (keys.has(reason)) continue;
    keys.set(reason, short(left > 0 ? maskDetails(reason.slice(0, left)) + reason.slice(left) : reason));
    left -= reason.length;
  }
  return short(reasons.map((reason) => keys.get(reason)).join('; or '));
}

const short = (text: string): string => (text.length > keptMax ? `#${digestOf([text])}` : text);
