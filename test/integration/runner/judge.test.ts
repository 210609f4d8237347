/** The `judge` check: a second model over real HTTP, with what it is shown, and every way in which it gives no verdict. */
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JudgeApi } from '../../../machines/index.ts';
import type { RunResult } from '../../../src/runner/request.ts';
import { createRunner } from '../../../src/runner/runner.ts';
import { type Answer, completion, message, openJudge, replies } from '../../support/judge-model.ts';
import { createRepository } from './repository.ts';
import { createWorkspace, type Workspace } from './workspace.ts';

const key = 'sk-a-key-of-ours';
const done = { pass: true, reason: 'All of it is there.' };
const open = { pass: false, reason: 'The tests are missing.' };
const work = {
  tasks: [{ task: 'T-1', title: 'Fix login' }],
  plan: [{ title: 'Write tests', status: 'done' }],
  filesModified: ['login.ts'],
  validation: [{ rule: 'lint', passed: false, message: '2 warnings' }],
  stopReason: 'end_turn',
  lastWords: 'I have done everything.',
  draft: null,
};
const paths: Record<JudgeApi, string> = { openai: '/v1/chat/completions', anthropic: '/v1/messages' };

type How = { api?: JudgeApi; timeoutMs?: number; keyEnv?: string | null; signal?: AbortSignal; since?: string };

/** In a folder without a repository, whose changes are read by no run of git. */
const setUp = async (answers: readonly Answer[]) => {
  const env = {};
  return setUpIn({ ...(await createWorkspace()), env }, answers);
};

const setUpInGit = async (answers: readonly Answer[]) => setUpIn(await createRepository(), answers);

async function setUpIn<Place extends Workspace & { env: Record<string, string> }>(
  place: Place,
  answers: readonly Answer[],
) {
  const model = await openJudge(answers);
  const { root, cwd, env } = place;
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, new Writable({ write: (line, _, next) => next(void lines.push(String(line))) }));
  const runner = createRunner({
    ...{ roots: ['.'], baseDir: root, commands: {}, log },
    env: { ...env, JUDGE_KEY: key, OTHER_KEY: 'another-secret', EMPTY: ' ', BROKEN: 'two\nlines' },
    judges: [{ endpoint: model.origin, keyEnv: 'JUDGE_KEY' }],
  });
  onTestFinished(() => runner.close());
  const judge = ({ api = 'openai', keyEnv = 'JUDGE_KEY', signal, ...more }: How = {}): Promise<RunResult> =>
    runner.run(
      {
        ...{ kind: 'judge', cwd, timeoutMs: 20_000, model: 'm-1', prompt: 'Login works, with tests.', work },
        ...{ api, endpoint: `${model.origin}${paths[api]}`, keyEnv, worker: 'w1', ...more },
      },
      signal ?? new AbortController().signal,
    );
  return {
    ...place,
    ...model,
    runner,
    judge,
    lines,
    put: (n: string, text: string) => writeFile(join(cwd, n), text),
  };
}

describe.each([
  {
    api: 'openai' as const,
    usage: { model: 'm-1', input: 100, output: 30, cacheRead: 20 },
    keyHeader: { authorization: `Bearer ${key}` },
  },
  {
    api: 'anthropic' as const,
    usage: { model: 'm-1', input: 100, output: 30, cacheRead: 20, cacheWrite: 10 },
    keyHeader: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
  },
])('by the API of $api', ({ api, usage, keyHeader }) => {
  test('the verdict is the result, with its reason, its model and what it used', async () => {
    const { judge, asked } = await setUp([open, done]);
    const about = { metadata: { model: 'm-1' }, usage, tookMs: expect.any(Number) };
    expect(await judge({ api })).toEqual({ outcome: 'fail', reason: open.reason, ...about });
    expect(await judge({ api })).toEqual({ outcome: 'pass', reason: done.reason, ...about });
    expect(asked).toHaveLength(2);
    expect(asked[0]).toMatchObject({ path: paths[api], headers: keyHeader, body: { model: 'm-1' } });
    expect(asked[0]?.system).toContain('Login works, with tests.');
  });

  test('it asks for an answer of one form', async () => {
    const { judge, asked } = await setUp([done]);
    await judge({ api });
    const { response_format: format, tools, tool_choice: choice } = asked[0]?.body ?? {};
    const schema = api === 'openai' ? format.json_schema.schema : tools[0].input_schema;
    expect(schema).toMatchObject({ required: ['reason', 'pass'], additionalProperties: false });
    if (api === 'openai') expect(format).toMatchObject({ type: 'json_schema', json_schema: { strict: true } });
    else expect(choice).toEqual({ type: 'tool', name: 'verdict' });
  });

  const answer = api === 'openai' ? (value: unknown) => completion(JSON.stringify(value)) : message;
  const cut =
    api === 'openai' ? completion('{"pass":true', { finish_reason: 'length' }) : { stop_reason: 'max_tokens' };
  test.each([
    { what: 'no verdict', body: answer({ verdict: 'fine' }) },
    { what: 'a pass that is a text', body: answer({ pass: 'true', reason: 'fine' }) },
    { what: 'no reason', body: answer({ pass: true, reason: ' ' }) },
    { what: 'prose', body: api === 'openai' ? completion('It passes.') : message({}, { content: [{ type: 'text' }] }) },
    { what: 'a cut answer', body: api === 'openai' ? cut : message(done, cut) },
    {
      what: 'a refusal',
      body:
        api === 'openai'
          ? completion(null, { message: { content: null, refusal: 'I will not.' } })
          : message(done, { stop_reason: 'refusal' }),
    },
    {
      what: 'two verdicts',
      body:
        api === 'openai'
          ? completion('{"pass":true,"reason":"a"}{"pass":false,"reason":"b"}')
          : message(done, { content: [open, done].map((input) => ({ type: 'tool_use', name: 'verdict', input })) }),
    },
  ])('$what is an error, never a pass, and was paid for', async ({ body }) => {
    const { judge, asked } = await setUp([replies(200, body)]);
    expect(await judge({ api })).toMatchObject({
      outcome: 'error',
      reason: expect.stringContaining('Judge "m-1" gave no verdict: '),
      usage,
    });
    expect(asked).toHaveLength(1);
  });
});

describe('what is shown', () => {
  test('the task, the plan, the last words and the changes, between marks that are new each time', async () => {
    const { judge, asked, git, put } = await setUpInGit([done]);
    await put('kept.txt', 'edited\n');
    await put('new.txt', 'fresh\n');
    await git('add', 'new.txt');
    await judge();
    await judge();
    const [first = '', second = ''] = asked.map(({ user }) => user);
    for (const shown of ['T-1: Fix login', '[done] Write tests', 'login.ts', 'lint: failed 2 warnings', 'end_turn'])
      expect(first).toContain(shown);
    expect(first).toContain('I have done everything.');
    expect(first).toMatch(/-kept\n\+edited\n[\s\S]*diff --git a\/new.txt b\/new.txt\nnew file\n\+fresh\n/);
    const markOf = (text: string) => /<changes mark="([0-9a-f]{24})">/.exec(text)?.[1];
    expect(markOf(first)).toBeDefined();
    expect(markOf(second)).not.toBe(markOf(first));
    expect(asked[0]?.system).toContain(markOf(first));
  });

  test('changes that the index hides, and commits since the ref', async () => {
    const { judge, asked, git, put } = await setUpInGit([done]);
    await git('tag', 'start');
    await put('second.txt', 'two\n');
    await git('add', '.');
    await git('commit', '-qm', 'second');
    await git('update-index', '--assume-unchanged', 'kept.txt');
    await put('kept.txt', 'hidden\n');
    await judge({ since: 'start' });
    expect(asked[0]?.user).toContain('+hidden');
    expect(asked[0]?.user).toContain('+two');
    const before = (await git('status', '--porcelain')).stdout;
    await judge();
    expect(asked[1]?.user).not.toContain('+two');
    expect((await git('status', '--porcelain')).stdout).toBe(before);
  });

  test('nothing of what a sparse checkout leaves out', async () => {
    const { judge, asked, git, put, cwd } = await setUpInGit([done]);
    await mkdir(join(cwd, 'far'));
    await put('far/away.txt', 'far away\n');
    await git('add', '.');
    await git('commit', '-qm', 'far');
    await git('sparse-checkout', 'set', '--no-cone', '/kept.txt');
    await put('kept.txt', 'edited\n');
    await judge();
    expect(asked[0]?.user).toContain('+edited');
    expect(asked[0]?.user).not.toContain('far away');
  });

  test('the repository stays as it was, to the last file', async () => {
    const { judge, asked, git, put, cwd } = await setUpInGit([done]);
    await git('commit', '-q', '--allow-empty', '-m', 'second');
    await put('kept.txt', 'edited\n');
    await put('empty.txt', '');
    const state = async () => {
      const names = await readdir(join(cwd, '.git'), { recursive: true });
      return Promise.all(names.sort().map(async (name) => [name, (await stat(join(cwd, '.git', name))).mtimeMs]));
    };
    const before = await state();
    await judge();
    expect(asked[0]?.user).toContain('+edited');
    expect(await state()).toEqual(before);
  });

  test('no more than fits, and it says that something is missing', async () => {
    const { judge, asked, put } = await setUpInGit([done]);
    await put('kept.txt', 'a long line\n'.repeat(100_000));
    await judge();
    expect(asked[0]?.user.length).toBeLessThan(100_000);
    expect(asked[0]?.user).toContain('…');
  });

  test('outside of git, that the changes are not known', async () => {
    const { runner, asked, origin, root } = await setUp([done]);
    const endpoint = `${origin}/v1/chat/completions`;
    const request = { kind: 'judge', api: 'openai', model: 'm', prompt: 'p', endpoint, work, timeoutMs: null } as const;
    expect(await runner.run({ ...request, cwd: root }, new AbortController().signal)).toMatchObject({
      outcome: 'pass',
    });
    expect(asked[0]?.user).toContain('the changes are not known');
    expect(asked[0]?.headers).not.toHaveProperty('authorization');
  });

  test('nothing, where the folder is not the worker’s to show', async () => {
    const { runner, asked, origin } = await setUp([done]);
    const endpoint = `${origin}/v1/chat/completions`;
    const request = { kind: 'judge', api: 'openai', model: 'm', prompt: 'p', endpoint, work, timeoutMs: null } as const;
    const { outcome, reason } = await runner.run({ ...request, cwd: '/' }, new AbortController().signal);
    expect([outcome, reason]).toEqual(['error', expect.stringContaining("outside the runner's roots")]);
    expect(asked).toEqual([]);
  });
});

describe('a server that gives no answer', () => {
  test.each([
    { what: 'too many requests', status: 429 },
    { what: 'a fault', status: 503 },
    { what: 'overload', status: 529 },
  ])('$what ($status): it is asked again', async ({ status }) => {
    const busy = replies(status, { error: { message: 'later' } }, { 'retry-after': '0' });
    const { judge, asked } = await setUp([busy, busy, done]);
    expect(await judge()).toMatchObject({ outcome: 'pass' });
    expect(asked).toHaveLength(3);
  });

  test('one that is cut off is asked again', async () => {
    const { judge, asked } = await setUp([(response) => response.destroy(), done]);
    expect(await judge()).toMatchObject({ outcome: 'pass' });
    expect(asked).toHaveLength(2);
  });

  test('a wait that is longer than its time is not waited for', async () => {
    const { judge, asked } = await setUp([replies(429, { error: { message: 'quota' } }, { 'retry-after': '3600' })]);
    expect(await judge()).toMatchObject({ outcome: 'error', reason: 'Judge "m-1" answered 429: quota (1×)' });
    expect(asked).toHaveLength(1);
  });

  test.each([
    {
      what: 'a wrong key',
      answer: replies(401, { error: { message: `bad key ${key}` } }),
      says: 'answered 401: bad key ***',
    },
    { what: 'no JSON', answer: replies(200, '<html>'), says: 'answered with what is not JSON' },
    { what: 'another JSON', answer: replies(200, []), says: 'gave no verdict: its answer is no chat completion' },
    { what: 'too much', answer: replies(200, ' '.repeat(300_000)), says: 'answered with more than 262144 bytes' },
  ])('$what is an error at once', async ({ answer, says }) => {
    const { judge, asked } = await setUp([answer]);
    expect(await judge()).toMatchObject({ outcome: 'error', reason: `Judge "m-1" ${says}` });
    expect(asked).toHaveLength(1);
  });

  test('a redirect is not followed, and the key goes nowhere else', async () => {
    const elsewhere = await openJudge([done]);
    const { judge } = await setUp([replies(307, '', { location: `${elsewhere.origin}/v1/chat/completions` })]);
    const reason = 'Judge "m-1" answered 307, and redirects are not followed';
    expect(await judge()).toMatchObject({ outcome: 'error', reason });
    expect(elsewhere.asked).toEqual([]);
  });

  test('a server that knows no schemas is asked for JSON', async () => {
    const refusal = replies(400, { error: { message: "'response_format' of type json_schema is not supported" } });
    const { judge, asked } = await setUp([refusal, done]);
    expect(await judge()).toMatchObject({ outcome: 'pass' });
    expect(asked[1]?.body.response_format).toEqual({ type: 'json_object' });
  });

  test('silence ends at its time, and a stop that nobody waits for any more ends at once', async () => {
    const { judge, asked } = await setUp([() => {}]);
    expect(await judge({ timeoutMs: 500 })).toMatchObject({
      outcome: 'timeout',
      reason: 'Judge "m-1" took longer than 500ms',
    });
    const before = asked.length;
    expect(before).toBe(1);
    const abort = new AbortController();
    const judging = judge({ signal: abort.signal });
    await expect.poll(() => asked.length).toBe(before + 1);
    abort.abort();
    expect(await judging).toMatchObject({ outcome: 'error', reason: 'cancelled' });
  });
});

describe('the key', () => {
  test.each([
    { what: 'that is not set', keyEnv: 'UNSET', says: 'the variable UNSET is not set where the runner was started' },
    { what: 'that is empty', keyEnv: 'EMPTY', says: 'the variable EMPTY is not set where the runner was started' },
    { what: 'that is no header', keyEnv: 'BROKEN', says: 'the variable BROKEN holds what cannot be a key' },
  ])('$what is an error, and nobody is asked', async ({ keyEnv, says }) => {
    const { runner, asked, origin, judge } = await setUp([done]);
    runner.configure({
      ...{ roots: ['/'], baseDir: '/', commands: {}, env: { EMPTY: ' ', BROKEN: 'two\nlines' } },
      judges: [{ endpoint: origin, keyEnv }],
    });
    const result = await judge({ keyEnv });
    expect([result.outcome, result.reason]).toEqual(['error', expect.stringContaining(says)]);
    expect(asked).toEqual([]);
  });

  test('goes only where the configuration of the runner sends it: a request comes over the wire', async () => {
    const { judge, asked, origin } = await setUp([done]);
    const { outcome, reason } = await judge({ keyEnv: 'OTHER_KEY' });
    expect([outcome, reason]).toEqual([
      'error',
      `the configuration of the runner lets no key OTHER_KEY be sent to "${origin}": add {"endpoint":"${origin}","keyEnv":"OTHER_KEY"} to judges: there`,
    ]);
    expect(asked).toEqual([]);
  });

  test('the work goes nowhere either that the configuration does not name', async () => {
    const elsewhere = await openJudge([done]);
    const { runner, cwd } = await setUp([done]);
    const endpoint = `${elsewhere.origin}/v1/messages`;
    const request = {
      kind: 'judge',
      api: 'anthropic',
      model: 'm',
      prompt: 'p',
      endpoint,
      work,
      timeoutMs: null,
    } as const;
    const result = await runner.run({ ...request, cwd }, new AbortController().signal);
    expect(result).toMatchObject({ outcome: 'error', reason: expect.stringContaining('lets nothing be sent to') });
    expect(elsewhere.asked).toEqual([]);
  });

  test('stands in no log', async () => {
    const { judge, lines } = await setUp([replies(500, key, { 'retry-after': '0' }), open, (it) => it.destroy(), done]);
    await judge();
    await judge({ api: 'anthropic' });
    expect(lines.join('')).toContain('check ran');
    expect(lines.join('')).not.toContain(key);
  });
});
