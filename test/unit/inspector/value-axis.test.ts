/** The value axis of a chart: few round values in one unit, covering the highest value. */
import { expect, test } from 'vitest';
import { createDurationWriter, createValueAxis, type ValueUnit } from '../../../src/inspector/axes.ts';

const texts = (highest: number, unit: ValueUnit) => createValueAxis(highest, unit).ticks.map(({ text }) => text);
const [second, minute, hour] = [1_000, 60_000, 3_600_000];

test.each([
  { highest: 0, unit: 'count', is: ['0', '1'] },
  { highest: 1, unit: 'count', is: ['0', '1'] },
  { highest: 3, unit: 'count', is: ['0', '1', '2', '3'] },
  { highest: 7, unit: 'count', is: ['0', '5', '10'] },
  { highest: 48_127, unit: 'count', is: ['0', '20k', '40k', '60k'] },
  { highest: 2_500_000, unit: 'count', is: ['0', '1M', '2M', '3M'] },
  { highest: 0, unit: 'ms', is: ['0', '1 s'] },
  { highest: 320, unit: 'ms', is: ['0', '200 ms', '400 ms'] },
  { highest: 40 * second, unit: 'ms', is: ['0', '15 s', '30 s', '45 s'] },
  { highest: 50 * minute, unit: 'ms', is: ['0', '30 min', '60 min'] },
  { highest: 700 * hour, unit: 'ms', is: ['0', '500 h', '1000 h'] },
  { highest: 12, unit: 'usd', is: ['$0', '$5', '$10', '$15'] },
  { highest: 0.05, unit: 'usd', is: ['$0', '$0.02', '$0.04', '$0.06'] },
  { highest: 0.003, unit: 'usd', is: ['$0', '$0.001', '$0.002', '$0.003'] },
] as const)('up to $highest ($unit) they are $is', ({ highest, unit, is }) => {
  expect(texts(highest, unit)).toEqual(is);
});

test('are few, evenly spaced from 0, and cover the highest value', () => {
  for (const unit of ['count', 'ms', 'usd'] as const)
    for (let highest = 0.0007; highest < 1e9; highest *= 1.37) {
      const { top, ticks } = createValueAxis(highest, unit);
      expect(top).toBeGreaterThanOrEqual(highest * (1 - 1e-9));
      expect(ticks.length).toBeLessThanOrEqual(4);
      expect([ticks[0]?.value, ticks.at(-1)?.value]).toEqual([0, top]);
      expect(new Set(ticks.map(({ text }) => text)).size).toBe(ticks.length);
    }
});

test('durations in a column share the unit of the longest', () => {
  const { unit, write } = createDurationWriter([200, 4_300, 81_000]);
  expect([unit, write(200), write(81_000)]).toEqual(['s', '0.2', '81.0']);
  expect(createDurationWriter([3, 80]).unit).toBe('ms');
  expect(createDurationWriter([30 * minute]).unit).toBe('min');
  expect(createDurationWriter([]).unit).toBe('ms');
});
