/** Lengths of a pause: the offered ones, and parsing of a typed one. */
import { pauseMsMax } from '../../../../machines/values/limits.ts';
import { parseDuration } from '../../../../machines/values/time.ts';

/** `forMs` null means until the worker's session ends. */
export const pauseLengths = [
  { value: 'session', text: 'Until its session ends', forMs: null },
  { value: '30m', text: '30 minutes', forMs: 1_800_000 },
  { value: '2h', text: '2 hours', forMs: 7_200_000 },
  { value: '1d', text: '1 day', forMs: 86_400_000 },
] as const;

/** Value of the choice with a text field. */
export const typedLength = 'typed';

/**
 * Reads the choice and the text typed beside it, e.g. `45m`, `1.5h` or `7 d`.
 * @returns milliseconds, null for a pause without an end, or undefined if the text is invalid or too long a duration
 */
export function readPauseLength(choice: string, typed: string): number | null | undefined {
  const offered = pauseLengths.find(({ value }) => value === choice);
  if (offered !== undefined) return offered.forMs;
  const ms = parseDuration(typed.replace(/\s/g, '').toLowerCase());
  return ms !== null && ms > 0 && ms <= pauseMsMax ? ms : undefined;
}
