/**
 * Guard 10: if an agent is blocked for the same reason again and again, a person is asked (policy `stuckAfter`).
 * Evaluated before a block of guards 8 or 9 is given, and listed only when it decides.
 */
import type { StuckAfter } from '../policy/policy.ts';
import { digestOf } from '../values/digest.ts';
import type { FailureStreak } from './attempt.ts';
import { allow, constantPass, decide, type Guard, type GuardResult, type GuardScope, pass } from './guard.ts';
import { maskDetails } from './mask.ts';

export const stuck: Guard = (scope) => {
  const { stuckAfter } = scope.attempt.inForce.policy;
  const words = stuckAfter === null ? null : failureOf(scope);
  if (stuckAfter === null || words === null) return nothingFailed;
  const { times: max } = stuckAfter;
  const { count } = extendStreak(scope.worker.failureStreak, words, stuckAfter);
  const input = { count, max };
  if (count < max) return pass(`blocked ${count} times in the same words`, input);
  return decide(allow('escalate', 'stuck', `Stuck: blocked ${count} times in the same words`), input);
};

const nothingFailed = constantPass('nothing failed');

/** @param words why the stop is blocked, whole: a decision may cut it */
export function extendStreak(
  streak: FailureStreak | null,
  words: readonly string[],
  stuckAfter: StuckAfter | null,
): FailureStreak {
  const reason = keyOf(words, stuckAfter?.mask ?? false);
  return { reason, count: streak?.reason === reason ? streak.count + 1 : 1 };
}

/** So many characters are masked, in all; what is behind them is compared as it is. */
const maskedMax = 16_384;
/** Longer words are told apart by their hash: the worker keeps them. */
const keptMax = 500;

function keyOf(words: readonly string[], mask: boolean): string {
  const keys = new Map<string, string>();
  let left = mask ? maskedMax : 0;
  for (const word of words) {
    if (keys.has(word)) continue;
    keys.set(word, short(left > 0 ? maskDetails(word.slice(0, left)) + word.slice(left) : word));
    left -= word.length;
  }
  return short(words.map((word) => keys.get(word)).join('; or '));
}

const short = (text: string): string => (text.length > keptMax ? `#${digestOf([text])}` : text);

/** Why a guard decides, whole. */
export const wordsOf = ({ words, ruling }: Extract<GuardResult, { kind: 'decides' }>): readonly string[] =>
  words ?? [ruling.reason];

/** Why guard 8 or 9 would block; null: neither does. */
function failureOf(scope: GuardScope): readonly string[] | null {
  for (const guard of ['checks', 'hooks'] as const) {
    const result = scope.resultOf(guard);
    if (result.kind === 'decides') return result.ruling.decision === 'block' ? wordsOf(result) : null;
    if (result.kind !== 'pass') return null;
  }
  return null;
}
