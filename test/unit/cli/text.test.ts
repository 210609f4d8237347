/** Text that agents sent is made harmless and cut to fit before a terminal shows it. */
import { describe, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { formatListing } from '../../../src/cli/listing/listing.ts';
import { formatDollars } from '../../../src/cli/text/state-text.ts';
import { formatTable } from '../../../src/terminal/table.ts';
import {
  clean,
  cleanLines,
  createColors,
  cut,
  describeAnswer,
  paintAnswer,
  widthOf,
  wrap,
} from '../../../src/terminal/text.ts';

describe('clean', () => {
  test.each([
    ['plain text, größer, 日本 🚪', 'plain text, größer, 日本 🚪'],
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u001b]0;title\u0007after', 'after'],
    ['\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['\u009b2Jcleared', 'cleared'],
    ['\u001b', ''],
    ['a\u0000b\u0008c\u007fd\u0085e', 'abcde'],
    ['one\r\ntwo\tthree\u2028four', 'one two three four'],
    ['\u202egnirts\u202c \u2066x\u2069 \u200bz\ufeff', 'gnirts x z'],
  ])('%j is %j', (text, cleaned) => {
    expect(clean(text)).toBe(cleaned);
  });

  test('cleanLines keeps the lines', () => {
    expect(cleanLines('a\u001b[2J  \r\n\tb\n\nc\r')).toEqual(['a', ' b', '', 'c']);
  });
});

test.each([
  ['short', 10, 'short'],
  ['exactly 10', 10, 'exactly 10'],
  ['longer than ten', 10, 'longer th…'],
  ['日本語日本語', 7, '日本語…'],
  ['🚪🚪🚪', 4, '🚪…'],
  ['e\u0301e\u0301e\u0301', 3, 'e\u0301e\u0301e\u0301'],
  ['anything', 0, ''],
  ['anything', Number.POSITIVE_INFINITY, 'anything'],
])('%j cut to %d columns is %j', (text, width, expected) => {
  expect(cut(text, width)).toBe(expected);
  expect(widthOf(cut(text, width))).toBeLessThanOrEqual(width);
});

test('lines break at spaces, and a long word is cut', () => {
  expect(wrap('one two three', 8)).toEqual(['one two', 'three']);
  expect(wrap('a verylongword b', 6)).toEqual(['a', 'veryl…', 'b']);
  expect(wrap('one two three', Number.POSITIVE_INFINITY)).toEqual(['one two three']);
});

test('an unjudged answer has its own colour', () => {
  const answers = [
    ['block', 'incomplete'],
    ['allow', 'complete'],
    ['allow', 'capped'],
    ['allow', 'unjudged'],
    ['allow', 'escalated'],
  ].map(
    ([decision, cause]) => ({ decision, action: cause === 'escalated' ? 'escalate' : 'continue', cause }) as Decision,
  );
  const painted = answers.map((answer) => paintAnswer(answer, createColors(true))('x'));
  expect(new Set(painted).size).toBe(5);
  expect(describeAnswer(answers[3] as Decision)).toBe('allow · continue · unjudged');
});

test('a table shortens its widest columns first, and aligns wide letters', () => {
  const rows = [
    [{ text: 'id' }, { text: 'a very long text indeed' }, { text: 'x' }],
    [{ text: '日' }, { text: 'short' }, { text: 'y' }],
  ];
  expect(formatTable(['A', 'B', 'C'], rows, 20)).toEqual([
    'A   B              C',
    'id  a very long…   x',
    '日  short          y',
  ]);
  for (const line of formatTable(['A', 'B', 'C'], rows, 20)) expect(widthOf(line)).toBeLessThanOrEqual(20);
  expect(formatTable(['A'], [], 20)).toEqual([]);
});

test('a table shortens other columns before ids that a person copies', () => {
  const rows = [[{ text: 'loop-app-4d1a8d', isWhole: true }, { text: 'block incomplete' }]];
  expect(formatTable([], rows, 28)).toEqual(['loop-app-4d1a8d  block inco…']);
  expect(formatTable([], rows, 18)).toEqual(['loop-ap…  block i…']);
});

test('a table aligns numbers on the right, with their heading, also in the last column', () => {
  const rowOf = (id: string, ...numbers: string[]) => [
    { text: id },
    ...numbers.map((text) => ({ text, isNumber: true })),
  ];
  expect(formatTable(['ID', 'USD', 'TOKENS'], [rowOf('w1', '12.50', '900'), rowOf('w2', '-', '-')], 80)).toEqual([
    'ID    USD  TOKENS',
    'w1  12.50     900',
    'w2      -       -',
  ]);
});

const twoMoods: Parameters<typeof formatListing<string>>[0] = {
  headings: ['WHO', 'MOOD', 'WHY'],
  optional: ['MOOD'],
  rowOf: (text) => [{ text, isWhole: true }, { text: 'calm' }, { text: 'because of a long story' }],
};
const listAt = (width: number, ...ids: string[]) =>
  formatListing(twoMoods, ids, { colors: createColors(false), width });

test('a narrow terminal leaves out the least important columns', () => {
  expect(listAt(80, 'w1')).toEqual(['WHO  MOOD  WHY', 'w1   calm  because of a long story']);
  expect(listAt(26, 'w1')).toEqual(['WHO  WHY', 'w1   because of a long st…']);
});

test('before it leaves out columns with a text, it shortens long ids to what tells them apart', () => {
  const [a, b, c] = ['0194a1b2-c3d4-7e5f-8a9b-0c', '0194a1b2-ffff-7e5f-8a9b-0c', '5f00aa11-0000-7e5f-8a9b-0c'] as const;
  expect(listAt(80, a, b, c)[1]).toBe(`${a}  calm  because of a long story`);
  expect(listAt(40, a, b, c)).toEqual([
    'WHO          MOOD  WHY',
    '0194a1b2-c…  calm  because of a long st…',
    '0194a1b2-f…  calm  because of a long st…',
    '5f00aa11…    calm  because of a long st…',
  ]);
});

test.each([
  [0.42, '0.42'],
  [12, '12.00'],
  [0.0006, '0.0006'],
  [0.000123456, '0.00012'],
  [0.009999, '0.01'],
  [0, '0.00'],
])('%f dollars are shown as %s', (usd, says) => {
  expect(formatDollars(usd)).toBe(says);
});
