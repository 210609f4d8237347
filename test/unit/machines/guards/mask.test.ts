/** The differences between two failures that `stuckAfter` masks. */
import { expect, test } from 'vitest';
import { maskDetails } from '../../../../machines/guards/stuck.ts';

test.each([
  ['numbers', '3 of 12 tests failed', '4 of 9 tests failed'],
  ['numbers with separators and signs', 'off by 1,024.5', 'off by -7'],
  ['addresses', 'fault at 0x7ffde1', 'fault at 0x0'],
  ['durations', 'timed out after 1.5s', 'timed out after 900 ms'],
  ['durations in words', 'took 3 minutes', 'took 1 hour'],
  ['durations of several parts', 'took 1h 2m 3s', 'took 59s'],
  ['times of day', 'failed at 12:00:01', 'failed at 7:05 PM'],
  ['times with their date', 'failed at 2026-03-02T12:00:00.000Z', 'failed at 2026-11-22T07:03:02+01:00'],
  ['paths', 'cannot read "/tmp/run-a/out.log"', 'cannot read "/tmp/run-b/deep/out.log"'],
  ['paths with a line', 'src/a.ts:12:5 - error', 'src/b/c.ts:7 - error'],
  ['paths of Windows', 'cannot open C:\\a\\b.txt', 'cannot open D:\\c.txt'],
])('%s do not', (_what, one, other) => {
  expect(maskDetails(one)).toBe(maskDetails(other));
});

test.each([
  ['words', '3 tests failed', '3 tests were skipped'],
  ['names', 'Missing required files: a.md', 'Missing required files: b.md'],
  ['numbers within a name', 'error TS2304', 'error TS2305'],
  ['what is left of a plan', '1 of 2 plan steps remain: Write', '1 of 2 plan steps remain: Test'],
])('%s do', (_what, one, other) => {
  expect(maskDetails(one)).not.toBe(maskDetails(other));
});
