/**
 * Masks what differs between runs in the message of the same failure: paths, durations, times and numbers (protocol.md
 * §8, `stuckAfter`). Anyone can send a message, so this takes time linear in its length.
 */

/** @returns the message, to be compared and not to be shown */
export const maskDetails = (message: string): string =>
  message
    .replace(words, (word) => (word.includes('/') || word.includes('\\') ? '<path>' : word))
    .replace(durations, '<duration>')
    .replace(numbers, '<number>');

const words = /[^\s"'`()[\]{}<>,;=]+/g;

/** A number within a word is part of a name, as in TS2304: it stays. */
const notInWord = '(?<![\\p{L}\\p{N}_])';
const units = 'ns|µs|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?';
/** `1.5s`, `3 minutes`, `1h 2m`. */
const durations = new RegExp(`${notInWord}(?:\\d+(?:[.,]\\d+)?\\s?(?:${units})(?!\\p{L})\\s?)+`, 'gu');
/** `3`, `0x7f`, `1,024.5`, `12:00:01 PM`, `2026-03-02`, and with its `T` and zone a whole time. */
const numbers = new RegExp(
  `${notInWord}(?:0x[\\da-f]+|[+-]?\\d[\\d.,:+-]*(?:T[\\d.,:+-]+Z?)?(?:\\s?[AP]M\\b)?)`,
  'giu',
);
