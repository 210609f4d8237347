/** Message ids can be parsed, and no other text is mistaken for one. */
import { expect, test } from 'vitest';
import {
  attemptMessageId,
  decisionMessageId,
  evaluationMessageId,
  isAttemptMessageIdOf,
  isEvaluationMessageIdOf,
  parseDecisionMessageId,
  unnamedAttemptMessageId,
} from '../../../../machines/index.ts';

test('the attempt can be parsed from a decision id', () => {
  expect(parseDecisionMessageId('w1', decisionMessageId('w1', 'a1'))).toBe('a1');
  expect(parseDecisionMessageId('w1', decisionMessageId('w1', 'seq-7'))).toBe('seq-7');
});

test.each([
  { why: "it is another worker's", id: 'w2:a1:decision' },
  { why: "the worker's name only begins alike", id: 'w10:a1:decision' },
  { why: 'it is an attempt', id: 'w1:a1' },
  { why: 'it is too short to hold both parts', id: 'w1:decision' },
])('an id is not a decision id of w1 if $why', ({ id }) => {
  expect(parseDecisionMessageId('w1', id)).toBeNull();
});

test('an attempt id belongs to its worker, with or without a name', () => {
  for (const id of [attemptMessageId('w1', 'a1'), unnamedAttemptMessageId('w1', 'x')]) {
    expect(isAttemptMessageIdOf('w1', id)).toBe(true);
    expect(isAttemptMessageIdOf('w10', id)).toBe(false);
  }
});

test('an evaluation is distinguished from an attempt of the same name', () => {
  expect(isEvaluationMessageIdOf('T-1', evaluationMessageId('T-1', 'x'))).toBe(true);
  expect(isEvaluationMessageIdOf('T-1', attemptMessageId('T-1', 'x'))).toBe(false);
});
