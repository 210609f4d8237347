/** Typed times and entries, and the search text of the entries view. */
import { expect, test } from 'vitest';
import { readFilter, toQuery, withWord } from '../../../src/inspector/client/entries/entries-filter.ts';
import { parseTarget } from '../../../src/inspector/client/time-travel/travel-target.ts';

const nowMs = new Date(2026, 2, 2, 12, 0).getTime();
const timeOf = (text: string) => {
  const place = parseTarget(text, nowMs);
  return place !== null && 'ms' in place ? new Date(place.ms) : place;
};

test('a time of day means the most recent one; also reads yesterday, dates and ages', () => {
  expect(timeOf('02:13')).toEqual(new Date(2026, 2, 2, 2, 13));
  expect(timeOf('22:13:05')).toEqual(new Date(2026, 2, 1, 22, 13, 5));
  expect(timeOf('Yesterday 14:00')).toEqual(new Date(2026, 2, 1, 14, 0));
  expect(timeOf('2026-02-27 02:13')).toEqual(new Date(2026, 1, 27, 2, 13));
  expect(timeOf('2026-02-27T02:13:00.000Z')).toEqual(new Date(Date.UTC(2026, 1, 27, 2, 13)));
  expect(timeOf('20m ago')).toEqual(new Date(2026, 2, 2, 11, 40));
});

test('a number is an entry, and anything else is rejected', () => {
  for (const text of ['4711', '#4711', 'entry 4711']) expect(parseTarget(text, nowMs)).toMatchObject({ seq: 4711 });
  for (const text of ['', 'ana', '25:00', '12:61', '2026-13-40 00:00', 'w-02:13'])
    expect(parseTarget(text, nowMs)).toBeNull();
});

test('named words filter, all others are searched', () => {
  const filter = readFilter('disk  full type:decision worker:w1 from:2026-02-27T02:13:00.000Z', nowMs);
  expect(filter).toMatchObject({ text: 'disk full', type: 'decision', worker: 'w1', task: null, to: null });
  expect(toQuery(filter)).toBe(`&type=decision&worker=w1&text=disk%20full&from=${Date.UTC(2026, 1, 27, 2, 13)}`);
  expect(withWord('disk type:decision', 'type', 'tool.used')).toBe('disk type:tool.used');
  expect(withWord('disk type:decision', 'type', '')).toBe('disk');
});
