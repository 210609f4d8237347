/** Texts in what the page receives. */
import { expect, test } from 'vitest';
import { toTruncatedJson } from '../../../src/inspector/messages.ts';

const short = { rows: [['w1', 3, null]], at: { text: 'x'.repeat(4_000) }, none: undefined };

test('what has no long text is JSON as it is', () => {
  expect(toTruncatedJson(short)).toBe(JSON.stringify(short));
});

test('a long text ends with a mark that says how long it is, at any depth; the rest is as it is', () => {
  const value = { ...short, entries: [{ output: ['fine', 'y'.repeat(12_345)] }] };
  const { entries, ...rest } = JSON.parse(toTruncatedJson(value));
  expect(entries).toEqual([{ output: ['fine', `${'y'.repeat(4_000)}… [truncated: 12,345 characters in total]`] }]);
  expect(rest).toEqual(JSON.parse(JSON.stringify(short)));
});
