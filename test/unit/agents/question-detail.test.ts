/** Questions that are too long for the log are shortened such that an operator can still answer each of them. */
import { expect, test, vi } from 'vitest';
import { readQuestions } from '../../../machines/values/questions.ts';
import {
  answersTo,
  describeQuestion,
  describeToolRequest,
  storeRequest,
} from '../../../src/agents/shared/permission-requests.ts';
import { createAnswer } from '../../../src/service/refusal.ts';

const charsMax = 4_000;
const ask = (texts: readonly string[], descriptionLength: number, choices = 3) => ({
  questions: texts.map((question) => ({
    question,
    header: 'Key',
    multiSelect: false,
    options: Array.from({ length: choices }, (_, index) => ({
      label: `choice ${index}`,
      description: 'd'.repeat(descriptionLength),
    })),
  })),
});
const long = (name: string, length: number) => `${name} ${'x'.repeat(length)}?`;

test.each([
  ['is short enough stays unchanged', ask(['Which?', 'Where?'], 10), true],
  ['has long descriptions goes without them', ask(['Which?', 'Where?'], 2_000), true],
  ['has too many choices goes without them', ask(['Which?', 'Where?'], 10, 200), false],
  ['is long itself is cut', ask([long('Which', 3_000), long('Where', 3_000), 'Why?'], 10), false],
])('input that %s', (_what, input, hasChoices) => {
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

test('input without questions is cut in the middle', () => {
  const { detail = '' } = describeQuestion('AskUserQuestion', { text: 'x'.repeat(5_000) });
  expect(detail.length).toBeLessThanOrEqual(charsMax);
  expect(detail).toContain('… (cut) …');
});

const publishedOf = async (input: object): Promise<object[]> => {
  const published: object[] = [];
  const held = await storeRequest('w1', describeQuestion('AskUserQuestion', input), 60_000, (_type, data) =>
    Promise.resolve(published.push(data)),
  );
  expect(held === null).toBe(published.every((it) => !('request' in it)));
  return published;
};
const around = (middle: string) => `${'x'.repeat(1_600)} ${middle} ${'y'.repeat(1_600)}`;

test.each([
  ['differ only in what was cut', ask(['users', 'orders', 'payments'].map(around), 10)],
  ['differ only in a secret', ask(['Use api_key=abcdef?', 'Use api_key=ghijkl?'], 10)],
  ['have the same text', ask(['Which?', 'Which?'], 10)],
  [
    'are too many to be shown',
    ask(
      Array.from({ length: 120 }, (_, index) => long(`${index}`, 40)),
      10,
    ),
  ],
  ['cannot be read', { text: 'Which?' }],
])('questions that %s are asked only at the agent’s own terminal', async (_what, input) => {
  expect(await publishedOf(input)).toMatchObject([{ kind: 'question' }]);
  expect(await publishedOf(input)).not.toMatchObject([{ request: expect.any(String) }]);
  const { questions = [] } = input as { questions?: readonly { question: string }[] };
  const answers = Object.fromEntries(questions.map(({ question }, index) => [question, `answer ${index}`]));
  expect(answersTo(input, JSON.stringify(answers))).toBeNull();
});

test('distinguishable questions are held', async () => {
  const held = await publishedOf(ask(['Which?', 'Where?'], 10));
  expect(held).toMatchObject([{ request: expect.any(String) }]);
});

test('a secret is hidden in a question whose text stays complete', async () => {
  const input = ask(['Run "curl -d api_key=abcdefgh" now?', '-----BEGIN PRIVATE KEY-----abc', 'Where?'], 10);
  const { detail = '' } = describeQuestion('AskUserQuestion', input);
  const shown = readQuestions(detail) ?? [];
  expect(shown.map(({ question }) => question)).toEqual(['Run "curl -d api_key=[hidden]" now?', '[hidden]', 'Where?']);
  expect(await publishedOf(input)).toMatchObject([{ request: expect.any(String) }]);
});

test.each([
  ['a text', { command: 'curl -H "Authorization: Bearer abcdefghijklmnop"', note: 'x' }, 'abcdefghijklmnop'],
  ['a field by its name', { env: { API_KEY: 'abcdefgh', password: 123_456_789 } }, /abcdefgh|123456789/],
  ['a name', { sk: { 'sk-abcdefghijklmnop': 1, password: 'abcdefgh' } }, /abcdefgh/],
])('a secret in a tool’s input is hidden: %s', (_where, input, secret) => {
  const { detail = '' } = describeToolRequest('permission', 'Bash', input);
  expect(detail).not.toMatch(secret);
  expect(Object.keys(JSON.parse(detail))).toEqual(Object.keys(input));
});

/** Counts the searched characters, which determine the time that a search takes. */
function searchedIn(work: () => unknown): number {
  const replace = vi.spyOn(String.prototype, 'replace');
  try {
    work();
    return replace.mock.contexts.reduce<number>((sum, text) => sum + String(text).length, 0);
  } finally {
    replace.mockRestore();
  }
}

const huge = 'a'.repeat(3_000_000);
test.each([
  ['the input of a tool', () => describeToolRequest('permission', 'Bash', { command: huge })],
  ['one question', () => describeQuestion('AskUserQuestion', ask([huge], 10))],
  [
    'each of many questions',
    () => describeQuestion('AskUserQuestion', ask(Array(100).fill(huge.slice(0, 30_000)), 10)),
  ],
  ['choices', () => describeQuestion('AskUserQuestion', ask(['Which?'], 1_000, 3_000))],
  ['too many questions', () => describeQuestion('AskUserQuestion', ask(Array(20_000).fill('Which?'), 10, 1))],
])('%s of several megabytes is cut before it is searched for secrets', (_what, describe) => {
  expect(searchedIn(describe)).toBeLessThan(1_000_000);
  expect(describe().detail?.length).toBeLessThanOrEqual(charsMax);
});

test('a key at the edge of the shown text is still hidden completely', () => {
  const key = `-----BEGIN PRIVATE KEY-----${'k'.repeat(3_000)}-----END PRIVATE KEY-----`;
  const { detail } = describeToolRequest('permission', 'Write', { content: `${huge}${key}${'x'.repeat(1_000)}` });
  expect(detail).toMatch(/a\[hidden\]x{1000}"}$/);
});

test('cut input is never valid JSON, even if the cut itself is hidden, so that no part of it is answered', async () => {
  const ends = ['-----BEGIN PRIVATE KEY-----', ...Array(120).fill(huge.slice(0, 500)), '-----END PRIVATE KEY-----'];
  expect(await publishedOf(ask(ends, 10))).not.toMatchObject([{ request: expect.any(String) }]);
});
