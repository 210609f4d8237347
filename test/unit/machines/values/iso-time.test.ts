/** Converts times of the wire to and from milliseconds. */
import { expect, test } from 'vitest';
import { formatIsoTime, parseIsoTime } from '../../../../machines/index.ts';

test.each([0, 951_782_400_000, 1_772_452_800_250, 4_102_444_799_999, -1])(
  '%i is converted to text and back',
  (atMs) => {
    expect(formatIsoTime(atMs)).toBe(new Date(atMs).toISOString());
    expect(parseIsoTime(new Date(atMs).toISOString())).toBe(atMs);
  },
);

test.each(['yesterday', '2026-02-30T00:00:00Z', '2026-01-01T24:00:00Z', '2026-01-01', '2026-01-01T00:00:00+01:00'])(
  '%s is not a time',
  (text) => {
    expect(parseIsoTime(text)).toBeNull();
  },
);
