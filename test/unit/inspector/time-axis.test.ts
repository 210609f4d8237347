/** The time axis: entries, times and places on the screen lead to each other, and silence is found. */
import { expect, test } from 'vitest';
import type { OutlineBucket } from '../../../src/inspector/messages.ts';
import { anchorsOf, createAxis, gapsIn, silenceUntil, ticksOf, timeOf } from '../../../src/inspector/time-axis.ts';

const bucket = (fromSeq: number, toSeq: number, fromMs: number, toMs: number, silent = [fromMs, fromMs]) =>
  ({ fromSeq, toSeq, fromMs, toMs, silentFromMs: silent[0], silentToMs: silent[1] }) as OutlineBucket;

/** Ten entries in a second, nine minutes of silence, and ten more. */
const buckets = [bucket(1, 10, 0, 1_000), bucket(11, 20, 541_000, 542_000, [1_000, 541_000])];
const anchors = anchorsOf(buckets, { seq: 1, ms: 0 }, { seq: 20, ms: 542_000 });

test('an entry is where its time is, and a place has the entry that was the newest there', () => {
  const axis = createAxis(anchors, 0, 542_000, 542);
  for (const seq of [1, 10, 11, 20]) expect(axis.seqAt(axis.xOf(seq))).toBe(seq);
  expect(axis.seqAt(300)).toBe(10);
  expect(axis.xOf(15)).toBeCloseTo(541 + 4 / 9);
  expect([axis.seqAt(-50), axis.seqAt(9_999)]).toEqual([1, 20]);
});

test('what is not read yet is guessed between the ends of the log', () => {
  const ends = anchorsOf([], { seq: 1, ms: 1_000 }, { seq: 101, ms: 2_000 });
  expect(timeOf(ends, 51)).toBe(1_500);
  expect(createAxis(ends, 1_000, 2_000, 100).seqAt(50)).toBe(51);
});

test('silence is a gap from a certain length on', () => {
  expect(gapsIn(buckets, 60_000)).toEqual([{ fromMs: 1_000, toMs: 541_000, seq: 20 }]);
  expect(gapsIn(buckets, 600_000)).toEqual([]);
  const sinceNewest = silenceUntil(700_000, buckets, 20);
  expect(sinceNewest && gapsIn([sinceNewest], 60_000)).toEqual([{ fromMs: 542_000, toMs: 700_000, seq: 21 }]);
  // What is stored meanwhile is not read yet.
  expect(silenceUntil(700_000, buckets, 25)).toBeNull();
});

test.each([
  ['seconds', 20_000, /^\d\d:\d\d:\d\d$/],
  ['minutes', 30 * 60_000, /^\d\d:\d\d$/],
  ['days', 20 * 86_400_000, /^\d\d-\d\d$/],
])('the axis is marked at whole %s, as many as there is room for', (_, spanMs, form) => {
  const from = Date.parse('2026-11-20T10:00:07.500Z');
  const ticks = ticksOf(createAxis([], from, from + spanMs, 900));
  expect(ticks.length).toBeGreaterThan(2);
  expect(ticks.length).toBeLessThanOrEqual(11);
  for (const { text } of ticks) expect(text).toMatch(form);
});
