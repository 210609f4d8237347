/** A worker remembers its last 256 attempts, in two numbers each. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addAttempt,
  decisionSeqOf,
  isKnownAttempt,
  type KnownAttempts,
  noteDecisionSeq,
} from '../../../../machines/fleet/known-attempts.ts';
import { idPattern } from '../../../../machines/index.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

test('knows the last 256 attempts, each with the position of its decision', () => {
  let known: KnownAttempts | null = null;
  for (const index of numbers(300)) {
    known = addAttempt(known, `a${index}`);
    if (index % 2 === 0) noteDecisionSeq(known, `a${index}`, 1_000 + index);
  }
  noteDecisionSeq(known, 'a43', 7);
  expect(known).toHaveLength(2 * 256);
  expect(numbers(301).filter((index) => isKnownAttempt(known, `a${index}`))).toEqual(numbers(300).slice(44));
  expect([decisionSeqOf(known, 'a298'), decisionSeqOf(known, 'a299'), decisionSeqOf(known, 'a43')]).toEqual([
    1_298,
    null,
    null,
  ]);
});

test('distinguishes ids that differ in one character', () => {
  const ids = new Set(numbers(20_000).flatMap((n) => [`a${n}`, `seq-${n}`, `${n}-0190-7000-8000-${n * 7}`]));
  const hashes = new Set([...ids].map((id) => addAttempt(null, id)[0]));
  expect(hashes.size).toBe(ids.size);
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.stringMatching(idPattern), { minLength: 2, maxLength: 2 }),
      ([one = '', other = '']) => {
        expect(isKnownAttempt(addAttempt(null, one), one)).toBe(true);
        expect(isKnownAttempt(addAttempt(null, one), other)).toBe(false);
      },
    ),
  );
});
