/**
 * Guard `stuck`: escalates an agent that is blocked for the same reason again and again (policy `stuckAfter`).
 * Evaluated only when `checks` or `hooks` is about to block; recorded only when it decides.
 */
import type { StuckAfter } from '../policy/policy.ts';
import { digestOf } from '../values/digest.ts';
import type { FailureStreak } from './attempt.ts';
import { allow, decide, failureOf, type Guard, nothingFailed, pass, reasonsOf } from './guard.ts';

/**
 * Masks paths, durations, times and numbers, which differ between runs of the same failure (protocol.md §8,
 * `stuckAfter`). The result is for comparing, not for showing. Messages are untrusted, so this runs in linear time.
 */
export const maskDetails = (message: string): string =>
  message
    .replace(words, (word) => (word.includes('/') || word.includes('\\') ? '<path>' : word))
    .replace(durations, '<duration>')
    .replace(numbers, '<number>');

const words = /[^\s"'`()[\]{}<>,;=]+/g;

/** A number within a word is part of a name, as in TS2304, and is not masked. */
const notInWord = '(?<![\\p{L}\\p{N}_])';
const units = 'ns|µs|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?';
/** `1.5s`, `3 minutes`, `1h 2m`. */
const durations = new RegExp(`${notInWord}(?:\\d+(?:[.,]\\d+)?\\s?(?:${units})(?!\\p{L})\\s?)+`, 'gu');
/** `3`, `0x7f`, `1,024.5`, `12:00:01 PM`, `2026-03-02`, and whole ISO times. */
const numbers = new RegExp(
  `${notInWord}(?:0x[\\da-f]+|[+-]?\\d[\\d.,:+-]*(?:T[\\d.,:+-]+Z?)?(?:\\s?[AP]M\\b)?)`,
  'giu',
);

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

/** @param reasons the uncut reasons of the block */
export function extendStreak(
  streak: FailureStreak | null,
  reasons: readonly string[],
  stuckAfter: StuckAfter | null,
): FailureStreak {
  const reason = keyOf(reasons, stuckAfter?.mask ?? false);
  return { reason, count: streak?.reason === reason ? streak.count + 1 : 1 };
}

/** At most this many characters of all reasons are masked; the rest is compared unmasked. */
const maskedMax = 16_384;
/** Longer reasons are stored and compared as hashes, to limit the worker's state. */
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
