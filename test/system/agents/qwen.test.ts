/** The real Qwen Code, beyond the tests for all headless agents (plan-turns.test.ts). Model turns are counted. */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deployment } from '../../support/deployment.ts';
import { runShipped } from '../../support/shipped.ts';
import { deployForAgents } from './support/deploy.ts';
import { makeHeadlessHome, qwen } from './support/headless.ts';
import { installAgent } from './support/install.ts';
import { qwenEnv, runQwen } from './support/qwen.ts';
import { runAgent } from './support/run.ts';
import { type Conversation, scriptModel, type Turn } from './support/scripted-model.ts';
import { causesOf, done, workersIn } from './support/workers.ts';

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

let program: string;
let at: Deployment;
beforeAll(async () => {
  program = await installAgent(qwen.program);
  at = await deployForAgents({ config });
});
afterAll(() => at.close());

const makeHome = (...init: string[]) => makeHeadlessHome(qwen, { program, http: at.http, init });
const makeModel = (turns: readonly Turn[], conversations?: readonly Conversation[]) =>
  scriptModel(qwen.api, turns, conversations);
const { open, close } = qwen;
const shell = (command: string): Turn => ({
  tool: 'run_shell_command',
  input: { command, description: 'a command', is_background: false },
});
const writes = shell('echo 3 > report.md');

test.each([
  ['at the eighth block', [], 8],
  ['after two where that is set', ['--block-cap', '2'], 3],
] as const)('by default it gives up %s, even with tools in between', async (_when, init, blocks) => {
  const home = await makeHome('--policy', 'stubborn', ...init);
  const model = await makeModel(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? shell('true') : done)));
  expect(await runQwen(program, home, model.url)).toMatchObject({ code: 0 });
  const [worker] = await workersIn(at, home);
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(Array(blocks).fill('incomplete'));
  expect(model.requests).toHaveLength(2 * blocks);
});

test('a step is not marked as done while a check fails', async () => {
  const home = await makeHome('--policy', 'gated');
  const model = await makeModel([open, close, writes, close, done]);
  expect(await runQwen(program, home, model.url)).toMatchObject({ code: 0 });
  expect(model.requests).toHaveLength(5);
  expect(model.requests[2]?.input).toContain('The step is not marked as done.');
  const [worker] = await workersIn(at, home);
  expect(worker).toMatchObject({ plan: [{ status: 'completed' }] });
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['complete']);
});

test('structured output is refused while a check fails, and the model reads what is missing', async () => {
  const home = await makeHome('--policy', 'report');
  const output: Turn = { tool: 'structured_output', input: { count: 3 } };
  const model = await makeModel([output, writes, output]);
  const schema = JSON.stringify({ type: 'object', properties: { count: { type: 'number' } }, required: ['count'] });
  expect(await runQwen(program, home, model.url, ['--json-schema', schema])).toMatchObject({ code: 0 });
  expect(model.requests).toHaveLength(3);
  expect(model.requests[1]?.input).toContain('report.md');
  const [worker] = await workersIn(at, home);
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['incomplete', 'complete']);
});

test('a sub-agent is judged by its own policy, and its parent’s stop waits for it', async () => {
  const home = await makeHome();
  const task = 'COUNT-THE-FILES';
  const parentWaits = async () => {
    const parent = async () => (await workersIn(at, home)).find((it) => it.parent === null);
    await expect.poll(async () => (await parent())?.lastDecision?.cause).toBe('waiting');
  };
  const delegate: Turn = {
    tool: 'agent',
    input: { description: 'count', prompt: task, subagent_type: 'general-purpose' },
  };
  const child: Conversation = { match: `"text":"${task}`, turns: [{ ...done, before: parentWaits }, writes, done] };
  const model = await makeModel([delegate, done, done], [child]);
  expect(await runQwen(program, home, model.url)).toMatchObject({ code: 0 });
  const workers = await workersIn(at, home);
  const parent = workers.find((it) => it.parent === null)?.worker ?? '';
  const [sub, ...others] = workers.filter((it) => it.parent === parent);
  expect(others).toEqual([]);
  expect(sub?.policy).toBe('report');
  expect(await causesOf(at, sub?.worker ?? '')).toEqual(['incomplete', 'complete']);
  expect(await causesOf(at, parent)).toEqual(['waiting', 'complete']);
});

test('an escalated session stops, says how to resume it, and reads the resolution with its next prompt', async () => {
  const home = await makeHome('--policy', 'promising');
  const model = await makeModel([{ text: 'I need another key. <promise>BLOCKED</promise>' }, done]);
  const ended = await runQwen(program, home, model.url);
  const [waiting] = await workersIn(at, home);
  const session = waiting?.worker ?? '';
  expect(ended.stderr).toContain(`stopgate resolve ${session} --resume --prompt`);
  expect(waiting).toMatchObject({ state: 'escalated', lastDecision: { cause: 'escalated' } });

  const word = ['--resume', '--prompt', 'Use the other key', '--yes', '--nats', at.server.url];
  const { stdout } = await runShipped(['resolve', session, ...word], { cwd: at.folder.path });
  // The printed command opens a session in a terminal; here the same session runs without one.
  expect(stdout).toContain(`qwen --resume ${session} --prompt-interactive 'Use the other key'`);
  const args = ['--resume', session, '--prompt', 'Go on, please'];
  expect(await runAgent(program, args, { at: home, env: qwenEnv(model.url) })).toMatchObject({ code: 0 });
  expect(model.requests.at(-1)?.input).toContain('Go on, please');
  expect(model.requests.at(-1)?.input).toContain('Use the other key');
  expect((await workersIn(at, home)).map(({ worker }) => worker)).toEqual([session]);
  expect(await causesOf(at, session)).toEqual(['escalated', 'complete']);
});
