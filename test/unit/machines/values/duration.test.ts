/** Durations as people write and read them. */
import { expect, test } from 'vitest';
import { durationSchema, formatDuration } from '../../../../machines/index.ts';

test.each([
  ['250ms', 250],
  ['50s', 50_000],
  ['10m', 600_000],
  ['1.5h', 5_400_000],
  ['36525d', 3_155_760_000_000],
  [700, 700],
])('the duration %s is %i ms', (text, ms) => {
  expect(durationSchema.parse(text)).toBe(ms);
});

test.each(['10', 'm', '-5s', '1w', -1, 1.5, '36526d', '999999999999d', 3_155_760_000_001])(
  '%s is not a duration',
  (text) => {
    expect(durationSchema.safeParse(text).success).toBe(false);
  },
);

test.each([
  [0, '0s'],
  [250, '250ms'],
  [90_000, '1m 30s'],
  [3_900_000, '1h 5m'],
])('%i ms reads %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
