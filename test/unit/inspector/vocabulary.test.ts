import { expect, test } from 'vitest';
import { stopWord } from '../../../src/inspector/vocabulary.ts';

test.each([
  ['no-policy', 'let go: nothing to check'],
  ['idle-timeout', 'let go: idle for too long'],
  ['complete', 'complete'],
  ['of a later release', 'of a later release'],
])('a worker that stopped with cause %s: %s', (cause, word) => {
  expect(stopWord(cause)).toBe(word);
});
