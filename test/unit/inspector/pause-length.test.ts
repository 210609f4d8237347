/** The length of a pause, chosen or typed. */
import { expect, test } from 'vitest';
import { readPauseLength, typedLength } from '../../../src/inspector/client/operator/pause-length.ts';

test.each([
  ['session', '', null],
  ['2h', '45m', 7_200_000],
  [typedLength, '45m', 2_700_000],
  [typedLength, ' 1.5 H ', 5_400_000],
  [typedLength, '7d', 604_800_000],
  [typedLength, '7.001d', undefined],
  [typedLength, '0m', undefined],
  [typedLength, '-5m', undefined],
  [typedLength, '45', undefined],
  [typedLength, '', undefined],
  ['not offered', '', undefined],
])('%s, typed %j', (choice, typed, ms) => {
  expect(readPauseLength(choice, typed)).toBe(ms);
});
