/** What may be missing in a log, once a person has accepted it (protocol.md §2). */
import { expect, test } from 'vitest';
import { isGapAccepted, nothingAccepted } from '../../../src/nats/accepted-gaps.ts';
import { formatLogNote, parseLogNote } from '../../../src/nats/log-note.ts';

const withinTo50 = { toSeq: 50, beginSeq: 1 };
const all = { toSeq: 50, beginSeq: 36 };

test.each([
  { what: 'nothing was accepted', accepted: nothingAccepted, from: 40, next: 42, first: 1, expected: false },
  { what: 'a gap that was there', accepted: withinTo50, from: 40, next: 42, first: 1, expected: true },
  { what: 'a gap that came later', accepted: withinTo50, from: 50, next: 52, first: 1, expected: false },
  { what: 'a beginning that a snapshot covered', accepted: withinTo50, from: 1, next: 36, first: 36, expected: false },
  { what: 'a beginning that was gone', accepted: all, from: 1, next: 36, first: 36, expected: true },
  { what: 'a later cut of that beginning', accepted: all, from: 1, next: 40, first: 40, expected: false },
  { what: 'a cut while it is read', accepted: all, from: 40, next: 45, first: 45, expected: false },
  { what: 'a cut that goes on', accepted: all, from: 40, next: 45, first: 48, expected: false },
])('$what: accepted $expected', ({ accepted, from, next, first, expected }) => {
  expect(isGapAccepted(accepted, from, next, first)).toBe(expected);
});

test('what was accepted is noted beside the log', () => {
  const created = '2026-01-01T00:00:00.017Z';
  for (const accepted of [nothingAccepted, withinTo50, all])
    expect(parseLogNote(formatLogNote('main', { created, accepted, folded: null })).accepted).toEqual(accepted);
  const earlier = `stopgate: refused entries of fleet main; its log was created at ${created}; gaps accepted up to entry 50`;
  expect(parseLogNote(earlier).accepted).toEqual({ toSeq: 50, beginSeq: 51 });
});
