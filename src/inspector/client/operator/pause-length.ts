/** How long a pause holds: the lengths that the page offers, and the length that an operator types. */
import { pauseMsMax } from '../../../../machines/values/limits.ts';
import { parseDuration } from '../../../../machines/values/time.ts';

/** `forMs` null: until the worker's session ends. */
export const pauseLengths = [
  { value: 'session', text: 'Until its session ends', forMs: null },
  { value: '30m', text: '30 minutes', forMs: 1_800_000 },
  { value: '2h', text: '2 hours', forMs: 7_200_000 },
  { value: '1d', text: '1 day', forMs: 86_400_000 },
] as const;

/** The value of the choice that has a field of its own. */
export const typedLength = 'typed';

/**
 * Reads the choice and what was typed beside it, e.g. `45m`, `1.5h` or `7 d`.
 * @returns null: the pause has no end; undefined: the text is no length, or it is longer than the protocol allows
 */
export function readPauseLength(choice: string, typed: string): number | null | undefined {
  const offered = pauseLengths.find(({ value }) => value === choice);
  if (offered !== undefined) return offered.forMs;
  const ms = parseDuration(typed.replace(/\s/g, '').toLowerCase());
  return ms !== null && ms > 0 && ms <= pauseMsMax ? ms : undefined;
}
