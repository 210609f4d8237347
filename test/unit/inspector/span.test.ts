/** The time span of the history, in the address and typed; and queue figures. */
import { expect, test } from 'vitest';
import type { State } from '../../../machines/values/states.ts';
import { figuresOf } from '../../../src/inspector/client/data/rows.ts';
import { parseRange, readSpan, writeSpan } from '../../../src/inspector/client/statistics/span.ts';
import type { TaskRow } from '../../../src/inspector/rows.ts';

const nowMs = new Date(2026, 2, 2, 12, 0).getTime();
const msAt = (hour: number, minute = 0) => new Date(2026, 2, 2, hour, minute).getTime();
const parse = (from: string, to: string) => parseRange({ from, to }, nowMs, async (seq) => msAt(0, seq));

test('a range survives the address; anything invalid is the last hour', () => {
  const range = { fromMs: msAt(1), toMs: msAt(2) };
  expect(readSpan(writeSpan(range))).toEqual(range);
  for (const span of ['hour', 'day', 'week'] as const) expect(readSpan(writeSpan(span))).toBe(span);
  for (const text of ['', 'year', '/', 'a/b', '2026-03-02T02:00:00Z/2026-03-02T01:00:00Z'])
    expect(readSpan(text)).toBe('hour');
});

test('a range is typed like a time-travel target; without an end it ends now', async () => {
  expect(await parse('02:00', '02:30')).toEqual({ fromMs: msAt(2), toMs: msAt(2, 30) });
  expect(await parse('20m ago', '')).toEqual({ fromMs: msAt(11, 40), toMs: nowMs });
  expect(await parse('#13', 'now')).toEqual({ fromMs: msAt(0, 13), toMs: nowMs });
  expect(await parse('', '02:30')).toBe('Enter a start time.');
  expect(await parse('2x', '')).toMatch(/^“2x” is not a time\. Try 02:13, /);
  expect(await parse('02:30', '02:00')).toBe('The end must be after the beginning.');
  expect(await parse('2026-01-01 00:00', '')).toBe('The range is longer than 31 days. Choose a shorter one.');
});

test('a queue shows its longest wait and the tasks completed within an hour', () => {
  const task = (queue: string | null, state: State, sinceMs: number, outcome: TaskRow['outcome'] = null) =>
    ({ queue, state, sinceMs, outcome }) as TaskRow;
  const figures = figuresOf(
    [
      task('main', 'idle', msAt(9)),
      task('main', 'idle', msAt(8)),
      task('main', 'working', msAt(7)),
      task('main', 'stopped', msAt(11, 30), 'completed'),
      task('main', 'stopped', msAt(10), 'completed'),
      task('main', 'stopped', msAt(11, 50), 'cancelled'),
      task('docs', 'stopped', msAt(11, 1), 'completed'),
      task(null, 'idle', msAt(1)),
    ],
    nowMs,
  );
  expect(Object.fromEntries(figures)).toEqual({
    main: { oldestMs: msAt(8), done: 1 },
    docs: { oldestMs: null, done: 1 },
  });
});
