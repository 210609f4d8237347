/** Compares two lists of lines. */
import { expect, test } from 'vitest';
import { diffLines } from '../../../src/text/line-diff.ts';

test('lines that stay do not count as changes, wherever others are added', () => {
  expect(diffLines(['a', 'b', 'c'], ['x', 'a', 'c', 'y']).map(({ sign, text }) => `${sign}${text}`)).toEqual([
    '+x',
    ' a',
    '-b',
    ' c',
    '+y',
  ]);
});

test('in a very large text, all lines count as new', () => {
  const many = Array.from({ length: 2_001 }, () => 'same');
  expect(new Set(diffLines(many, many).map(({ sign }) => sign))).toEqual(new Set(['-', '+']));
});
