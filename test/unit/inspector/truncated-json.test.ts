/** Long texts in messages to the page. */
import { expect, test } from 'vitest';
import { toTruncatedJson } from '../../../src/inspector/messages.ts';

const short = { rows: [['w1', 3, null]], at: { text: 'x'.repeat(4_000) }, none: undefined };

test('leaves JSON without long texts unchanged', () => {
  expect(toTruncatedJson(short)).toBe(JSON.stringify(short));
});

test('truncates long texts at any depth with a mark that gives the length', () => {
  const value = { ...short, entries: [{ output: ['fine', 'y'.repeat(12_345)] }] };
  const { entries, ...rest } = JSON.parse(toTruncatedJson(value));
  expect(entries).toEqual([{ output: ['fine', `${'y'.repeat(4_000)}… [truncated: 12,345 characters in total]`] }]);
  expect(rest).toEqual(JSON.parse(JSON.stringify(short)));
});
