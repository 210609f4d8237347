/** The real Qwen Code, with a scripted model, behind a real stopgate. Each model turn is counted: a block costs one. */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { serveShipped } from '../../support/service.ts';
import { runShipped } from '../../support/shipped.ts';
import { chatCompletions } from './support/chat-completions.ts';
import { connectAgent } from './support/connect.ts';
import { installAgent } from './support/install.ts';
import { qwenCode, qwenEnv, qwenSettings, runQwen } from './support/qwen.ts';
import { type AgentHome, makeAgentHome, runAgent } from './support/run.ts';
import { type Lane, scriptModel, type Turn } from './support/scripted-model.ts';
import { blockWords, causesOf, done, workersIn } from './support/workers.ts';

/** Sub-agents have to write a report. */
const config = `
policies:
  default: { checks: [{ plan: {} }] }
  report: { checks: [{ files: [report.md] }] }
  gated: { steps: gate, checks: [{ plan: {} }, { files: [report.md] }] }
  stubborn: { checks: [{ files: [report.md] }], retries: 20 }
  promising: { promises: true, checks: [{ plan: {} }] }
assign: [{ labels: { subagent: general-purpose }, policy: report }]
roots: [${tmpdir()}]
`;

let qwen: string;
let at: Deployment;
beforeAll(async () => {
  qwen = await installAgent(qwenCode);
  at = await deploy({ config });
}, 300_000);
afterAll(() => at.close());

async function makeHome(http = at.http, ...init: string[]): Promise<AgentHome> {
  const home = await makeAgentHome();
  await home.write('home/.qwen/settings.json', JSON.stringify(qwenSettings));
  await connectAgent('qwen', home, { program: qwen, http, init });
  return home;
}
const makeModel = (turns: readonly Turn[], lanes?: readonly Lane[]) => scriptModel(chatCompletions, turns, lanes);
const todo = (status: string): Turn => ({
  tool: 'todo_write',
  input: { todos: [{ id: '1', content: 'Write the tests', status }] },
});
const shell = (command: string): Turn => ({
  tool: 'run_shell_command',
  input: { command, description: 'a command', is_background: false },
});
const writes = shell('echo 3 > report.md');

describe.each(['http', 'http+perl', 'command'])('by hooks of the form %s', (form) => {
  test('a step that remains blocks its stop, and the model reads which; when all are done it is let go', async () => {
    const home = await makeHome(at.http, '--form', form);
    const model = await makeModel([todo('pending'), done, todo('completed'), { text: 'Now I am.' }]);
    const ended = await runQwen(qwen, home, model.url);
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Now I am.') });
    expect(model.requests).toHaveLength(4);
    expect(model.requests[2]?.said).toContain(blockWords);
    const [worker, ...others] = await workersIn(at, home);
    expect(worker).toMatchObject({ agent: 'qwen', state: 'stopped', plan: [{ status: 'completed' }] });
    expect(others).toEqual([]);
    expect(await causesOf(at, worker?.worker ?? '')).toEqual(['incomplete', 'complete']);
  });

  test('a service that is killed in the middle lets it stop; a command tells its user', async () => {
    const own = await deploy({ config, start: serveShipped });
    onTestFinished(() => own.close());
    const home = await makeHome(own.http, '--form', form);
    const model = await makeModel([todo('pending'), done, { ...done, before: () => own.service.kill('SIGKILL') }]);
    const ended = await runQwen(qwen, home, model.url);
    expect(ended.code).toBe(0);
    expect(model.requests).toHaveLength(3);
    expect(ended.stderr.includes('this stop was not judged')).toBe(form !== 'http');
  });
});

test('one that uses a tool each time is let go after three blocks', async () => {
  const home = await makeHome();
  const tool = shell('true');
  const model = await makeModel([todo('pending'), done, tool, done, tool, done, tool, done]);
  expect(await runQwen(qwen, home, model.url)).toMatchObject({ code: 0 });
  expect(model.requests).toHaveLength(8);
  const [worker] = await workersIn(at, home);
  const blocked = 'incomplete';
  expect(await causesOf(at, worker?.worker ?? '')).toEqual([blocked, blocked, blocked, 'capped']);
});

test.each([
  ['at the eighth block', [], 8],
  ['after two where that is set', ['--block-cap', '2'], 3],
] as const)('by itself it gives up %s, with tools in between too', async (_when, init, blocks) => {
  const home = await makeHome(at.http, '--policy', 'stubborn', ...init);
  const model = await makeModel(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? shell('true') : done)));
  expect(await runQwen(qwen, home, model.url)).toMatchObject({ code: 0 });
  const [worker] = await workersIn(at, home);
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(Array(blocks).fill('incomplete'));
  expect(model.requests).toHaveLength(2 * blocks);
});

test('a step is not marked as done while a check fails', async () => {
  const home = await makeHome(at.http, '--policy', 'gated');
  const model = await makeModel([todo('pending'), todo('completed'), writes, todo('completed'), done]);
  expect(await runQwen(qwen, home, model.url)).toMatchObject({ code: 0 });
  expect(model.requests).toHaveLength(5);
  expect(model.requests[2]?.said).toContain('The step is not marked as done.');
  const [worker] = await workersIn(at, home);
  expect(worker).toMatchObject({ plan: [{ status: 'completed' }] });
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['complete']);
});

test('structured output is not taken while a check fails, and the model reads what is missing', async () => {
  const home = await makeHome(at.http, '--policy', 'report');
  const output: Turn = { tool: 'structured_output', input: { count: 3 } };
  const model = await makeModel([output, writes, output]);
  const schema = JSON.stringify({ type: 'object', properties: { count: { type: 'number' } }, required: ['count'] });
  expect(await runQwen(qwen, home, model.url, ['--json-schema', schema])).toMatchObject({ code: 0 });
  expect(model.requests).toHaveLength(3);
  expect(model.requests[1]?.said).toContain('report.md');
  const [worker] = await workersIn(at, home);
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['incomplete', 'complete']);
});

test('a sub-agent is judged by its own policy, and its parent’s stop waits for it', async () => {
  const home = await makeHome();
  const task = 'COUNT-THE-FILES';
  const parentWaits = async () => {
    const parent = async () => (await workersIn(at, home)).find((it) => it.parent === null);
    await expect.poll(async () => (await parent())?.lastDecision?.cause, { timeout: 60_000 }).toBe('waiting');
  };
  const delegate: Turn = {
    tool: 'agent',
    input: { description: 'count', prompt: task, subagent_type: 'general-purpose' },
  };
  const child: Lane = { match: `"text":"${task}`, turns: [{ ...done, before: parentWaits }, writes, done] };
  const model = await makeModel([delegate, done, done], [child]);
  expect(await runQwen(qwen, home, model.url)).toMatchObject({ code: 0 });
  const workers = await workersIn(at, home);
  const parent = workers.find((it) => it.parent === null)?.worker ?? '';
  const [sub, ...others] = workers.filter((it) => it.parent === parent);
  expect(others).toEqual([]);
  expect(sub?.policy).toBe('report');
  expect(await causesOf(at, sub?.worker ?? '')).toEqual(['incomplete', 'complete']);
  expect(await causesOf(at, parent)).toEqual(['waiting', 'complete']);
});

test('two sessions at once in one folder are two workers, each judged by its own plan', async () => {
  const home = await makeHome();
  const [first, second] = [await makeModel([todo('pending'), done, todo('completed'), done]), await makeModel([done])];
  const ended = await Promise.all([first, second].map(({ url }) => runQwen(qwen, home, url)));
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  expect([first, second].map((model) => model.requests.length)).toEqual([4, 1]);
  const causes = await Promise.all((await workersIn(at, home)).map(({ worker }) => causesOf(at, worker)));
  expect(causes.sort((a, b) => a.length - b.length)).toEqual([['complete'], ['incomplete', 'complete']]);
});

test('one that is escalated stops, says how it goes on, and with its next prompt reads what a person said', async () => {
  const home = await makeHome(at.http, '--policy', 'promising');
  const model = await makeModel([{ text: 'I need another key. <promise>BLOCKED</promise>' }, done]);
  const ended = await runQwen(qwen, home, model.url);
  const [waiting] = await workersIn(at, home);
  const session = waiting?.worker ?? '';
  expect(ended.stderr).toContain(`stopgate resolve ${session} --resume --prompt`);
  expect(waiting).toMatchObject({ state: 'escalated', lastDecision: { cause: 'escalated' } });

  const word = ['--resume', '--prompt', 'Use the other key', '--yes', '--nats', at.server.url];
  const { stdout } = await runShipped(['resolve', session, ...word], { cwd: at.folder.path });
  // It opens a session that asks for permissions in its terminal; here it is the same one without a terminal.
  expect(stdout).toContain(`qwen --resume ${session} --prompt-interactive 'Use the other key'`);
  const args = ['--resume', session, '--prompt', 'Go on, please'];
  expect(await runAgent(qwen, args, { at: home, env: qwenEnv(model.url) })).toMatchObject({ code: 0 });
  expect(model.requests.at(-1)?.said).toContain('Go on, please');
  expect(model.requests.at(-1)?.said).toContain('Use the other key');
  expect((await workersIn(at, home)).map(({ worker }) => worker)).toEqual([session]);
  expect(await causesOf(at, session)).toEqual(['escalated', 'complete']);
});
