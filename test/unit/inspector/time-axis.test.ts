/** The time axis: mapping between entries, times and pixels, and finding silences. */
import { afterEach, expect, test, vi } from 'vitest';
import { anchorsOf, createAxis, gapsIn, silenceUntil, ticksOf, timeOf } from '../../../src/inspector/axes.ts';
import type { OutlineBucket } from '../../../src/inspector/messages.ts';

const bucket = (fromSeq: number, toSeq: number, fromMs: number, toMs: number, silent = [fromMs, fromMs]) =>
  ({ fromSeq, toSeq, fromMs, toMs, silentFromMs: silent[0], silentToMs: silent[1] }) as OutlineBucket;

/** Ten entries in a second, nine minutes of silence, and ten more. */
const buckets = [bucket(1, 10, 0, 1_000), bucket(11, 20, 541_000, 542_000, [1_000, 541_000])];
const anchors = anchorsOf(buckets, { seq: 1, ms: 0 }, { seq: 20, ms: 542_000 });

test('maps an entry to its time, and a position to the newest entry there', () => {
  const axis = createAxis(anchors, 0, 542_000, 542);
  for (const seq of [1, 10, 11, 20]) expect(axis.seqAt(axis.xOf(seq))).toBe(seq);
  expect(axis.seqAt(300)).toBe(10);
  expect(axis.xOf(15)).toBeCloseTo(541 + 4 / 9);
  expect([axis.seqAt(-50), axis.seqAt(9_999)]).toEqual([1, 20]);
});

test('interpolates entries that are not loaded yet', () => {
  const ends = anchorsOf([], { seq: 1, ms: 1_000 }, { seq: 101, ms: 2_000 });
  expect(timeOf(ends, 51)).toBe(1_500);
  expect(createAxis(ends, 1_000, 2_000, 100).seqAt(50)).toBe(51);
});

test('a silence is a gap from a minimum length on', () => {
  expect(gapsIn(buckets, 60_000)).toEqual([{ fromMs: 1_000, toMs: 541_000, seq: 20 }]);
  expect(gapsIn(buckets, 600_000)).toEqual([]);
  const sinceNewest = silenceUntil(700_000, buckets, 20);
  expect(sinceNewest && gapsIn([sinceNewest], 60_000)).toEqual([{ fromMs: 542_000, toMs: 700_000, seq: 21 }]);
  // Entries stored meanwhile are not loaded yet.
  expect(silenceUntil(700_000, buckets, 25)).toBeNull();
});

test.each([
  ['seconds', 20_000, /^\d\d:\d\d:\d\d$/],
  ['minutes', 30 * 60_000, /^\d\d:\d\d$/],
  ['days', 20 * 86_400_000, /^\d\d-\d\d$/],
])('labels the axis at whole %s, as many as fit', (_, spanMs, form) => {
  const from = Date.parse('2026-11-20T10:00:07.500Z');
  const ticks = ticksOf(createAxis([], from, from + spanMs, 900));
  expect(ticks.length).toBeGreaterThan(2);
  expect(ticks.length).toBeLessThanOrEqual(11);
  for (const { text } of ticks) expect(text).toMatch(form);
});

const day = 86_400_000;

test.each([
  // Across a day of 25 hours, and one of 23.
  ['2026-10-22T12:00:00Z', 7 * day, ['10-23', '10-24', '10-25', '10-26', '10-27', '10-28', '10-29']],
  ['2026-03-26T12:00:00Z', 7 * day, ['03-27', '03-28', '03-29', '03-30', '03-31', '04-01', '04-02']],
  ['2026-10-24T20:00:00Z', day / 2, ['22:00', '10-25', '02:00', '04:00', '06:00', '08:00']],
  // 02:00 does not exist: it is 03:00.
  ['2026-03-28T22:30:00Z', day / 2, ['03-29', '03:00', '04:00', '06:00', '08:00', '10:00', '12:00']],
  // Mondays.
  ['2026-10-01T12:00:00Z', 40 * day, ['10-05', '10-12', '10-19', '10-26', '11-02', '11-09']],
])('ticks from %s are at whole steps of local time across daylight saving changes', (from, spanMs, texts) => {
  vi.stubEnv('TZ', 'Europe/Berlin');
  const axis = createAxis([], Date.parse(from), Date.parse(from) + spanMs, 7 * 84);
  expect(ticksOf(axis).map(({ text }) => text)).toEqual(texts);
});

afterEach(() => {
  vi.unstubAllEnvs();
});
