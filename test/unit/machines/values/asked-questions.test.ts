/** Questions of agents, as people see them, and their answers. */
import { expect, test } from 'vitest';
import { describeQuestions, readAnswers, readQuestions, toMessage } from '../../../../machines/values/questions.ts';
import { createAnswer } from '../../../../src/service/refusal.ts';

const which = {
  question: 'Which key?',
  header: 'Key',
  multiSelect: false,
  options: [{ label: 'A', description: 'old' }],
};
const where = { question: 'Where?', multiSelect: true, options: [{ label: 'x' }, { label: 'y' }] };

test('questions are read with their choices, and their answers become one message', () => {
  const questions = readQuestions(JSON.stringify({ questions: [which, where] })) ?? [];
  expect(questions).toEqual([
    { question: 'Which key?', isMultiple: false, choices: [{ label: 'A', description: 'old' }] },
    { question: 'Where?', isMultiple: true, choices: ['x', 'y'].map((label) => ({ label, description: '' })) },
  ]);
  expect(JSON.parse(toMessage(questions, [['A'], ['x', 'y']]))).toEqual({ 'Which key?': 'A', 'Where?': 'x, y' });
  expect(toMessage(questions.slice(0, 1), [['A']])).toBe('A');
});

test.each([
  null,
  '',
  'rm -rf',
  '{"command":"ls"}',
  '{"questions":[]}',
  '{"questions":[{"options":[]}]}',
  '{"questions":[',
])('%j contains no questions', (detail) => expect(readQuestions(detail)).toBeNull());

const both = readQuestions(JSON.stringify({ questions: [which, where] })) ?? [];

test('questions are printed on one line', () => {
  expect(describeQuestions(both)).toBe('Which key? (A) Where? (x, y)');
});

test('a message answers one question directly, and several by their texts; each needs an answer', () => {
  expect(readAnswers(both.slice(0, 1), '{"A"}')).toEqual(['{"A"}']);
  expect(readAnswers(both, toMessage(both, [['A'], ['x', 'y']]))).toEqual(['A', 'x, y']);
  for (const message of ['', 'A', '{"Which key?":"A"}', '{"Which key?":"A","Where?":" "}', 'null', '[1]'])
    expect(readAnswers(both, message)).toBeNull();
  expect(readAnswers(both.slice(0, 1), ' ')).toBeNull();
});

test('questions with the same text cannot be answered, only denied', () => {
  const alike = [which, { ...which, options: [] }];
  const questions = readQuestions(JSON.stringify({ questions: alike })) ?? [];
  const message = toMessage(questions, [['No'], ['Yes']]);
  expect(readAnswers(questions, message)).toBeNull();

  const detail = JSON.stringify({ questions: alike });
  const asked = { request: 'r1', seq: 7, since: '', kind: 'question', tool: null, message: null, detail };
  const asking = { worker: 'w1', inputs: [asked], lastAnswer: null };
  expect(() => createAnswer(asking, { verdict: 'allow', message })).toThrow(
    'worker w1 asks questions with equal texts, so its answers could not be distinguished; deny it',
  );
  expect(createAnswer(asking, { verdict: 'deny' })).toEqual({ request: 'r1', verdict: 'deny' });
});
