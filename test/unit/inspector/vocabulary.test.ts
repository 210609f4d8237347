import { expect, test } from 'vitest';
import { stopWord } from '../../../src/inspector/vocabulary.ts';

test.each([
  ['no-policy', 'allowed: nothing to check'],
  ['idle-timeout', 'allowed: idle for too long'],
  ['complete', 'complete'],
  ['of a later release', 'of a later release'],
])('a worker that stopped with cause %s: %s', (cause, word) => {
  expect(stopWord(cause)).toBe(word);
});
