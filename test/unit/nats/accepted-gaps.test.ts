/** Which entries may be missing in a log after a person accepted the gaps (protocol.md §2). */
import { expect, test } from 'vitest';
import {
  formatLogNote,
  isGapAccepted,
  nothingAccepted,
  nothingNoted,
  parseLogNote,
} from '../../../src/nats/log/log-note.ts';

const withinTo50 = { toSeq: 50, beginSeq: 1 };
const all = { toSeq: 50, beginSeq: 36 };

test.each([
  { what: 'nothing was accepted', accepted: nothingAccepted, from: 40, next: 42, first: 1, expected: false },
  { what: 'a gap from before the acceptance', accepted: withinTo50, from: 40, next: 42, first: 1, expected: true },
  { what: 'a later gap', accepted: withinTo50, from: 50, next: 52, first: 1, expected: false },
  {
    what: 'a missing beginning that a snapshot covered',
    accepted: withinTo50,
    from: 1,
    next: 36,
    first: 36,
    expected: false,
  },
  { what: 'a missing beginning', accepted: all, from: 1, next: 36, first: 36, expected: true },
  { what: 'a beginning that retention removed later', accepted: all, from: 1, next: 40, first: 40, expected: false },
  { what: 'retention during the read', accepted: all, from: 40, next: 45, first: 45, expected: false },
  { what: 'continued retention during the read', accepted: all, from: 40, next: 45, first: 48, expected: false },
])('$what: accepted $expected', ({ accepted, from, next, first, expected }) => {
  expect(isGapAccepted(accepted, from, next, first)).toBe(expected);
});

test('the note survives formatting and parsing, and a foreign description is an empty note', () => {
  const mark = (seq: number) => ({ seq, atMs: Date.parse('2026-01-01T00:00:00.017Z') + seq, digest: 'ab'.repeat(8) });
  for (const accepted of [nothingAccepted, withinTo50, all])
    for (const [begun, folded] of [
      [null, null],
      [mark(1), null],
      [mark(36), mark(90)],
    ] as const)
      expect(parseLogNote(formatLogNote('main', { begun, accepted, folded }))).toEqual({ begun, accepted, folded });
  expect(parseLogNote('a description of somebody else')).toEqual(nothingNoted);
  // `nats stream ls` shows it in one column.
  expect(
    formatLogNote('main', { begun: mark(1), accepted: nothingAccepted, folded: mark(9_999_999) }).length,
  ).toBeLessThan(150);
});
