/** Sums of usage: money without rounding errors, and only safe integers. */
import { expect, test } from 'vitest';
import {
  addToPeriod,
  addUsed,
  beginPeriod,
  countedOf,
  grantPeriod,
  unused,
  usdOf,
  useOf,
  viewUsage,
} from '../../../../machines/values/usage.ts';

test('a thousand times 0.1 dollars is exactly 100', () => {
  const reports = Array.from({ length: 1_000 }, () => useOf({ usd: 0.1 }));
  expect(viewUsage(reports.reduce(addUsed, unused)).usd).toBe(100);
  expect(Array.from({ length: 1_000 }, () => 0.1).reduce((sum, usd) => sum + usd, 0)).not.toBe(100);
});

test.each([5.01, 10.02, 0.3, 0.000_000_037, 1234.56, 0])('%d dollars are shown as they were reported', (usd) => {
  expect(usdOf(useOf({ usd }).nanoUsd)).toBe(usd);
});

test('tokens read from a cache do not count towards a budget', () => {
  expect(useOf({ input: 1, output: 20, cacheWrite: 300, cacheRead: 4_000 }).tokens).toBe(321);
});

test('sums stop at the largest safe integer', () => {
  const huge = useOf({ input: 1e308, output: 1e308, usd: 1e308 });
  expect(addUsed(huge, huge)).toEqual({ tokens: Number.MAX_SAFE_INTEGER, nanoUsd: Number.MAX_SAFE_INTEGER, turns: 0 });
});

test('a grant counts from the current sum', () => {
  const period = addToPeriod(beginPeriod(0), { tokens: 12, nanoUsd: 0, turns: 2 });
  const granted = grantPeriod(period, null, { atMs: 60, escalatedMs: 50 });
  const later = addToPeriod(granted, { tokens: 3, nanoUsd: 0, turns: 1 });
  expect(countedOf(later)).toEqual({ tokens: 3, nanoUsd: 0, turns: 1 });
  expect(viewUsage(later)).toEqual({ tokens: 15, usd: 0, turns: 3 });
});
