/** The real Codex, headless, with a scripted model, connected to a service and trusted by `stopgate init`. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Deployment } from '../../support/deployment.ts';
import { serveShipped } from '../../support/service.ts';
import { runShipped } from '../../support/shipped.ts';
import { runCodexTurn } from './support/codex-server.ts';
import { deployForAgents } from './support/deploy.ts';
import { codexCli, installAgent } from './support/install.ts';
import { writeCodexConfig } from './support/run.ts';
import { codexScene, type SceneOptions } from './support/scene.ts';
import { childrenOf, expectCauses, payloadsOf, viewOf, workersIn } from './support/workers.ts';

const checks = [{ plan: {} }];
/** JSON is valid YAML. */
const config = JSON.stringify({
  policies: {
    default: { checks },
    patient: { checks, retries: 12 },
    person: { checks, retries: 1, onCap: 'escalate' },
    held: { ask: '5m' },
  },
});
const remains = 'Not done yet: 1 of 1 plan steps remain: Write the tests.';
const plan = { tool: 'create_goal', input: { objective: 'Write the tests' } };
const done = { tool: 'update_goal', input: { status: 'complete' } };
const childConversation = '"text":"CHILD-TASK';
const delegate = { tool: 'spawn_agent', namespace: 'multi_agent_v1', input: { message: 'CHILD-TASK' } };

let codex: string;
let at: Deployment;
beforeAll(async () => {
  codex = await installAgent(codexCli);
  at = await deployForAgents({ config });
});
afterAll(() => at.close());

const scene = (options: Omit<SceneOptions, 'program' | 'http'>, http = at.http) =>
  codexScene({ ...options, program: codex, http });

test('it is blocked until its goal is reached, and reads the reason', async () => {
  const { home, model, run } = await scene({ turns: [plan, { text: 'one' }, done, { text: 'two' }] });
  const ended = await run('Write the tests.');
  expect(ended.code).toBe(0);
  expect(model.requests).toHaveLength(4);
  expect(model.requests[2]?.input).toMatch(/^<hook_prompt [^>]*>/);
  expect(model.requests[2]?.input).toContain(remains);
  await expectCauses(at, ended.worker, ['incomplete', 'complete']);
  expect(await viewOf(at, ended.worker)).toMatchObject({
    agent: 'codex',
    state: 'stopped',
    cwd: home.project,
    plan: [{ step: 'goal', title: 'Write the tests', status: 'completed' }],
  });
  // No warning about our hooks, for example about a timeout that is too long.
  expect(ended.stderr).not.toContain('hooks.json');
});

test('a session without progress may stop after three blocks', async () => {
  const turns = [plan, ...['one', 'two', 'three', 'four', 'five'].map((text) => ({ text }))];
  const { model, run } = await scene({ turns });
  const ended = await run('Write the tests.');
  expect(ended.code).toBe(0);
  expect(model.requests).toHaveLength(5);
  await expectCauses(at, ended.worker, ['incomplete', 'incomplete', 'incomplete', 'capped']);
});

test('Codex has no limit of its own: it accepts twelve consecutive blocks', async () => {
  const turns = [plan, ...Array.from('abcdefghijklmn', (text) => ({ text }))];
  const { model, run } = await scene({ turns, init: ['--policy', 'patient'] });
  const ended = await run('Write the tests.');
  expect(ended.code).toBe(0);
  expect(model.requests).toHaveLength(14);
  await expectCauses(at, ended.worker, [...Array(12).fill('incomplete'), 'capped']);
});

test('two parallel sessions in one folder are separate workers', async () => {
  const conversations = [
    { match: 'SESSION-ONE', turns: [plan, ...['one', 'two', 'three', 'four'].map((text) => ({ text }))] },
    { match: 'SESSION-TWO', turns: [plan, done, { text: 'one' }] },
  ];
  const { model, run } = await scene({ turns: [], conversations });
  const [one, two] = await Promise.all([run('SESSION-ONE'), run('SESSION-TWO')]);
  expect([model.conversation('SESSION-ONE').length, model.conversation('SESSION-TWO').length]).toEqual([5, 3]);
  await expectCauses(at, one.worker, ['incomplete', 'incomplete', 'incomplete', 'capped']);
  await expectCauses(at, two.worker, ['complete']);
});

test('it may stop if the service is killed between two stops', async () => {
  const own = await deployForAgents({ config, start: serveShipped });
  onTestFinished(() => own.close());
  const turns = [plan, { text: 'one' }, { text: 'two', before: () => own.service.kill('SIGKILL') }];
  const { model, run } = await scene({ turns }, own.http);
  const ended = await run('Write the tests.');
  expect(ended.code).toBe(0);
  expect(model.requests).toHaveLength(3);
  expect(model.requests[2]?.input).toContain(remains);
  // `codex exec` does not print a hook's message to the person.
  expect(ended.stderr).toMatch(/hook: Stop Blocked[\s\S]*hook: Stop Completed/);
});

test('Codex apps show that a stop was not judged', async () => {
  const { home } = await scene({ turns: [{ text: 'one' }] }, 'http://127.0.0.1:9');
  const messages = await runCodexTurn(codex, home, 'Write the tests.');
  const stop = messages.find(({ method, params }) => method === 'hook/completed' && isOfStop(params));
  expect(stop?.params).toMatchObject({
    run: { entries: [{ kind: 'warning', text: expect.stringContaining('this stop was not judged') }] },
  });
});
test('an operator answers permission requests, and the person at the session is not asked as well', async () => {
  const touch = (file: string) => ({ tool: 'exec_command', input: { cmd: `touch ${file}` } });
  const turns = [touch('one'), touch('two'), { text: 'done' }];
  const { home, model } = await scene({ turns, init: ['--policy', 'held'] });
  const running = runCodexTurn(codex, home, 'Make the files.', 'untrusted');
  const asking = async () => (await workersIn(at, home)).find(({ inputs }) => inputs[0]?.request);
  const answer = async (file: string, ...words: string[]) => {
    await expect.poll(async () => (await asking())?.inputs[0]?.detail).toContain(`touch ${file}`);
    const worker = (await asking())?.worker ?? '';
    const line = ['answer', worker, ...words, '--yes', '--by', 'ann', '--nats', at.server.url];
    expect(await runShipped(line, { cwd: home.project })).toMatchObject({ code: 0, stderr: '' });
    return worker;
  };
  await answer('one', '--allow');
  const worker = await answer('two', '--deny', '--message', 'Not in this folder');
  const messages = await running;
  expect(messages.filter(({ method }) => method?.endsWith('/requestApproval'))).toEqual([]);
  expect(['one', 'two'].map((file) => existsSync(`${home.project}/${file}`))).toEqual([true, false]);
  expect(model.requests[2]?.input).toContain('Not in this folder');
  expect(await viewOf(at, worker)).toMatchObject({ inputs: [], lastAnswer: { by: 'ann', verdict: 'deny' } });
});

const isOfStop = (params: object | undefined) =>
  (params as { run?: { eventName?: string } } | undefined)?.run?.eventName === 'stop';

test('a sub-agent is a separate worker with its own prompt and stop', async () => {
  const child = [{ tool: 'exec_command', input: { cmd: 'true' } }, { text: 'found' }];
  // Long enough for the sub-agent to end before its parent.
  const wait = { tool: 'exec_command', input: { cmd: 'sleep 4' } };
  const turns = [plan, delegate, wait, { text: 'one' }, done, { text: 'two' }];
  const { model, run } = await scene({ turns, conversations: [{ match: childConversation, turns: child }] });
  const ended = await run('Write the tests.');
  expect([model.requests.length, model.conversation(childConversation).length]).toEqual([6, 2]);
  const [own, ...others] = await childrenOf(at, ended.worker);
  expect(others).toEqual([]);
  expect(own).toMatchObject({ agent: 'codex', labels: { subagent: 'default' }, plan: [] });
  await expectCauses(at, own?.worker ?? '', ['complete']);
  await expectCauses(at, ended.worker, ['incomplete', 'complete']);
  expect(await payloadsOf(at, own?.worker ?? '', 'prompt.submitted')).toEqual([{ text: 'CHILD-TASK', by: 'agent' }]);
  expect(await payloadsOf(at, ended.worker, 'prompt.submitted')).toEqual([{ text: 'Write the tests.' }]);
});

test('an escalated session waits for a person and resumes with the printed command', async () => {
  const turns = [plan, { text: 'one' }, { text: 'two' }, done, { text: 'three' }];
  const { home, model, run } = await scene({ turns, init: ['--policy', 'person'] });
  const { worker } = await run('Write the tests.');
  await expectCauses(at, worker, ['incomplete', 'capped']);
  expect(await viewOf(at, worker)).toMatchObject({ state: 'escalated' });
  const words = ['resolve', worker, '--resume', '--prompt', 'Use the other parser.', '--yes', '--nats', at.server.url];
  const resolved = await runShipped(words, { cwd: home.project });
  expect(resolved).toMatchObject({ code: 0, stdout: expect.stringContaining(`codex exec resume ${worker}`) });
  expect(await run('Use the other parser.', ['resume', worker])).toMatchObject({ code: 0, worker });
  expect(model.requests).toHaveLength(5);
  expect(model.requests[3]?.input).toContain('Use the other parser.');
  await expectCauses(at, worker, ['incomplete', 'capped', 'complete']);
});

test('without trust in its hooks, it silently runs none', async () => {
  const { home, model, run } = await scene({ turns: [plan, { text: 'one' }] });
  await writeCodexConfig(home, model.url);
  const ended = await run('Write the tests.');
  expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('hook') });
  expect(model.requests).toHaveLength(2);
  expect(await viewOf(at, ended.worker)).toMatchObject({ error: { code: 'NOT_FOUND' } });
});
