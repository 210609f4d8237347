/** Questions that are too long for the log: what an operator is shown of them can still be answered, each of them. */
import { expect, test } from 'vitest';
import { answersTo, describeQuestion } from '../../../src/agents/shared/permission-requests.ts';
import { createAnswer } from '../../../src/service/open-request.ts';
import { readQuestions } from '../../../src/service/questions.ts';

const charsMax = 4_000;
const ask = (texts: readonly string[], descriptionLength: number, choices = 3) => ({
  questions: texts.map((question) => ({
    ...{ question, header: 'Key', multiSelect: false },
    options: Array.from({ length: choices }, (_, index) => ({
      ...{ label: `choice ${index}`, description: 'd'.repeat(descriptionLength) },
    })),
  })),
});
const long = (name: string, length: number) => `${name} ${'x'.repeat(length)}?`;

test.each([
  ['is short enough stays as it is', ask(['Which?', 'Where?'], 10), true],
  ['has long descriptions goes without them', ask(['Which?', 'Where?'], 2_000), true],
  ['has too many choices goes without them', ask(['Which?', 'Where?'], 10, 200), false],
  ['is long itself is cut', ask([long('Which', 3_000), long('Where', 3_000), 'Why?'], 10), false],
])('what %s', (_what, input, hasChoices) => {
  const { detail = '' } = describeQuestion('AskUserQuestion', input);
  expect(detail.length).toBeLessThanOrEqual(charsMax);
  const shown = readQuestions(detail) ?? [];
  expect(shown.map(({ choices }) => choices.length > 0)).toEqual(input.questions.map(() => hasChoices));

  const asked = { request: 'r1', seq: 7, since: '', kind: 'question', tool: null, message: null, detail };
  const give = (answers: object) =>
    createAnswer(
      { worker: 'w1', inputs: [asked], lastAnswer: null },
      { verdict: 'allow', message: JSON.stringify(answers) },
    );
  const answers = Object.fromEntries(shown.map(({ question }, index) => [question, `answer ${index}`]));
  const [first = ''] = Object.keys(answers);
  expect(() => give({ [first]: 'A' })).toThrow('give a JSON object of answers by question');
  expect(answersTo(input, give(answers).message ?? null)).toEqual(Object.values(answers));
});

test('input that is not of questions is cut in the middle', () => {
  const { detail = '' } = describeQuestion('AskUserQuestion', { text: 'x'.repeat(5_000) });
  expect(detail.length).toBeLessThanOrEqual(charsMax);
  expect(detail).toContain('… (cut) …');
});
