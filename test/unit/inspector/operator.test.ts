/** What the inbox makes of an agent's questions, and which prompts it suggests for many escalations at once. */
import { expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { readQuestions, toMessage } from '../../../src/inspector/client/operator/questions.ts';
import { suggestForMany } from '../../../src/inspector/client/operator/suggestions.ts';

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
])('none are read in %j', (detail) => expect(readQuestions(detail)).toBeNull());

const view = (fields: Partial<WorkerView>): WorkerView =>
  ({ plan: [], lastDecision: null, escalation: null, ...fields }) as unknown as WorkerView;

test('what is suggested for many fits each of them', () => {
  const stuck = { escalation: { cause: 'stuck' } } as unknown as Partial<WorkerView>;
  const plan = [{ title: 'Write tests', status: 'pending', step: null }] as unknown as WorkerView['plan'];
  expect(suggestForMany([view({ ...stuck, plan }), view({ ...stuck, plan })])).toEqual([
    'Go on with the next step of the plan: Write tests',
    expect.stringContaining('Your last attempts failed the same way.'),
    'Go on with the next open step of your plan.',
    expect.stringContaining('Decide it yourself'),
  ]);
  expect(suggestForMany([view({ ...stuck, plan }), view({})])).toEqual([expect.stringContaining('Decide it yourself')]);
  expect(suggestForMany([])).toEqual([expect.stringContaining('Decide it yourself')]);
});
