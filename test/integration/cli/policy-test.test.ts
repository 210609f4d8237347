/** `stopgate test` tests policies on cases, without a service. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Folder, makeFolder } from '../../support/deployment.ts';
import { readPage } from '../../support/markdown.ts';
import { jsonLines, openTerminal, runOnce } from '../../support/terminal.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => folder.remove());

const run = (...argv: string[]) => runOnce(['test', ...argv], { cwd: folder.path });
const stop = { at: '12:00', subject: 'worker.w1.stop.attempted', data: { attempt: 'a1' } };
const result = (outcome: string) => ({
  at: '12:01',
  subject: 'own.worker.w1.check.finished',
  data: { attempt: 'a1', check: 'tests', outcome, reason: 'red' },
});
const policy = { default: { checks: [{ command: 'tests' }] } };
const failing = {
  name: 'red keeps it',
  entries: [stop, result('fail')],
  expect: [{ decision: 'block', reason: 'red' }],
};
const write = (name: string, content: unknown) => folder.write(name, JSON.stringify(content));

test('cases that pass print a line each; the exit code is 0', async () => {
  await write('pass.json', { topic: 'mine', policy, cases: [failing] });
  expect(await run('pass.json')).toEqual({
    code: 0,
    stdout: 'ok    mine: red keeps it\n1 passed, 0 failed\n',
    stderr: '',
  });
});

test('a case that fails prints its position, the expected and the actual decision; the exit code is 1', async () => {
  const wrong = { ...failing, expect: [{ decision: 'allow', guard: 'done' }, { worker: 'w2' }] };
  await write('fail.json', { policy, cases: [wrong, failing] });
  const { code, stdout } = await run('fail.json');
  expect(stdout.split('\n').slice(0, 4)).toEqual([
    'FAIL  red keeps it',
    '      decision 1.decision',
    '        expected  "allow"',
    '        was       "block"',
  ]);
  expect(stdout).toContain('decision 1.guard\n        expected  "done"\n        was       "checks"\n');
  expect(stdout).toContain('decision 2\n        expected  {"worker":"w2"}\n        was       nothing\n');
  expect(stdout).toMatch(/1 passed, 1 failed\n$/);
  expect(code).toBe(1);
  const json = await run('fail.json', '--json');
  expect(jsonLines(json.stdout)).toMatchObject([
    { name: 'red keeps it', passed: false, differences: [{ path: 'decision 1.decision', expected: 'allow' }, {}, {}] },
    { passed: true, differences: [] },
  ]);
});

const both = { default: { checks: [{ command: 'lint' }, { command: 'tests' }] } };
const order = 'checks run one after the other, in the order of the policy';
test.each([
  {
    why: 'the result of a check whose turn had not come',
    entries: [stop, result('fail')],
    says: `entry 2: the result of check 'tests' was not read, because the attempt waited for lint; ${order}`,
  },
  {
    why: 'a result without an attempt',
    entries: [result('fail'), stop],
    says: `entry 1: the result of check 'tests' was not read, because no attempt was open; ${order}`,
  },
  {
    why: 'a misspelled field of an entry',
    entries: [{ ...stop, data: { attempt: 'a1', outptu: 'Done' } }],
    says: "entry 1: stop.attempted has no field 'outptu'; did you mean 'output'?",
  },
])('says that an entry was not read: $why', async ({ entries, says }) => {
  await write('unread.json', { policy: both, cases: [{ name: 'red', entries, expect: [{ decision: 'block' }] }] });
  expect((await run('unread.json')).stdout).toContain(`\n      ${says}\n`);
  expect(jsonLines((await run('unread.json', '--json')).stdout)).toMatchObject([{ hints: [says] }]);
});

test.each([
  { why: 'a decision that was not expected', change: { expect: [] }, path: 'unexpected' },
  {
    why: 'an entry that is refused',
    change: { entries: [stop, { at: '12:00', subject: 'worker.w1.no.such' }, result('fail')] },
    path: 'entry 2',
  },
  { why: 'an entry that should be', change: { bad: [1] }, path: 'entry 1' },
  {
    why: 'a view',
    change: { views: [{ at: '12:02', workers: { w1: { state: 'idle' } } }] },
    path: 'at 12:02: workers.w1.state',
  },
])('$why is a failure', async ({ change, path }) => {
  await write('one.json', { policy, cases: [{ ...failing, ...change }] });
  const { code, stdout } = await run('one.json', '--json');
  expect(jsonLines(stdout)).toMatchObject([{ passed: false, differences: [{ path }] }]);
  expect(code).toBe(1);
});

test('the policy is taken from a stopgate.yaml beside the case file', async () => {
  await folder.write(
    'rules.yaml',
    'policies: { default: { checks: [{ command: tests }] } }\ncommands: { tests: { run: [npm, test] } }\n',
  );
  await write('named.json', { cases: [{ ...failing, policy: 'rules.yaml' }] });
  expect(await run('named.json')).toMatchObject({ code: 0 });
  await folder.write('rules.yaml', 'policies: { default: { retry: 1 } }\n');
  expect(await run('named.json')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('rules.yaml:1:24: unknown key'),
  });
});

describe('bad input is reported with its position and exit code 2', () => {
  test.each([
    { text: 'cases: [{ name: a, entry: [] }]\n', says: 'bad.yaml:1:20: unknown key' },
    { text: 'cases: [', says: 'bad.yaml:1' },
    { text: 'cases: []\n', says: 'bad.yaml:1' },
    {
      text: JSON.stringify({ cases: [{ ...failing, policy: { default: { retry: 1 } } }] }),
      says: 'the policy is refused: default.retry: unknown key',
    },
    {
      text: JSON.stringify({ policy, cases: [{ ...failing, expect: [{ reason: { $match: '(' } }] }] }),
      says: 'is not a valid pattern',
    },
  ])('$says', async ({ text, says }) => {
    await folder.write('bad.yaml', text);
    expect(await run('bad.yaml')).toMatchObject({ code: 2, stderr: expect.stringContaining(says) });
  });

  test('a missing file', async () => {
    expect(await run('none.yaml')).toMatchObject({ code: 2, stderr: expect.stringContaining('none.yaml') });
    const empty = await openTerminal();
    expect(await empty.run('test')).toBe(2);
    expect(empty.stderr()).toContain(
      'there is no such file; "npx stopgate test --init" writes one for your stopgate.yaml',
    );
  });
});

describe('--init', () => {
  const rules = (checks: string) => `policies: { default: { checks: [${checks}] } }\n`;

  test('writes cases for the stopgate.yaml of the folder, which fail when it decides differently', async () => {
    await folder.write('stopgate.yaml', rules('{ plan: {} }, { command: unit }, { files: [a.md] }'));
    expect(await run('--init')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('has 2 cases for stopgate.yaml'),
    });
    expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('2 passed, 0 failed') });
    expect(await run('--init')).toMatchObject({ code: 2, stderr: expect.stringContaining('already exists') });
    await folder.write('stopgate.yaml', rules('{ plan: {} }'));
    expect(await run()).toMatchObject({ code: 1, stdout: expect.stringContaining('FAIL') });
  });

  test('names the policy relative to the case file', async () => {
    await folder.write('stopgate.yaml', rules('{ plan: {} }'));
    await folder.write('cases/keep', '');
    await run('--init', 'cases/first.yaml');
    expect(await run('cases/first.yaml')).toMatchObject({ code: 0, stdout: expect.stringContaining('1 passed') });
  });

  test('without a stopgate.yaml it says how to get one', async () => {
    const empty = await openTerminal();
    expect(await empty.run('test', '--init')).toBe(2);
    expect(empty.stderr()).toContain('"npx stopgate init --policy tests" writes one with its cases');
  });
});

test('--watch repeats the cases when the policy changes', async () => {
  const yaml = (check: string) => `policies: { default: { checks: [{ command: ${check} }] } }\n`;
  await folder.write('watched.yaml', yaml('tests'));
  await write('watched.json', { cases: [{ ...failing, policy: 'watched.yaml' }] });
  const terminal = await openTerminal({ cwd: folder.path });
  const ended = terminal.run('test', 'watched.json', '--watch');
  await terminal.printed('1 passed, 0 failed');
  await folder.write('watched.yaml', yaml('other-name'));
  await terminal.printed('0 passed, 1 failed');
  terminal.pressCtrlC();
  expect(await ended).toBe(1);
});

test('the examples of docs/testing-policies.md pass', async () => {
  await folder.write('stopgate.yaml', 'policies: { default: { checks: [{ command: tests }] } }\n');
  const fences = readPage('docs/testing-policies.md').fences.filter(({ text }) => text.includes('cases:\n'));
  expect(fences).toHaveLength(2);
  for (const [index, { text }] of fences.entries()) {
    await folder.write(`docs-${index}.yaml`, text);
    expect(await run(`docs-${index}.yaml`)).toMatchObject({ code: 0, stderr: '' });
  }
});
