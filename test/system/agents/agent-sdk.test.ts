/** The real Claude Agent SDK with a scripted model and callbacks from `stopHooks`, imported like users do. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Deployment, deploy, makeFolder } from '../../support/deployment.ts';
import { serveShipped } from '../../support/service.ts';
import { anthropicMessages } from './support/anthropic.ts';
import { agentSdk, installPackage } from './support/install.ts';
import { claudeEnv, cleanEnv, makeAgentHome } from './support/run.ts';
import { planTools } from './support/scene.ts';
import { scriptModel, type Turn } from './support/scripted-model.ts';
import { expectCauses, viewOf } from './support/workers.ts';

type Message = { type: string; subtype?: string; session_id?: string; result?: string; content?: string };
type Query = (asked: { prompt: string; options: object }) => AsyncIterable<Message>;
type UntilResolved = (session: string, options: { http: string }) => Promise<string | null>;
type StopHooks = (options: { http: string; policy?: string; onUnjudged?: (message: string) => void }) => object;

const config =
  'policies: { default: { checks: [{ plan: {} }] }, free: {}, stuck: { promises: true, checks: [{ plan: {} }] } }\n';
const remains = 'Not done yet: 1 of 1 plan steps remain: Write the tests.';
const plan = { tool: 'TaskCreate', input: { subject: 'Write the tests', description: 'of the parser' } };
const done = { tool: 'TaskUpdate', input: { taskId: '1', status: 'completed' } };
const built = new URL('../../../dist/src/agents/claude/agent-sdk.js', import.meta.url).href;

let folder: string;
let query: Query;
let stopHooks: StopHooks;
let untilResolved: UntilResolved;
let at: Deployment;
beforeAll(async () => {
  folder = await installPackage(agentSdk);
  ({ query } = (await import(pathToFileURL(join(folder, 'sdk.mjs')).href)) as { query: Query });
  ({ stopHooks, untilResolved } = (await import(built)) as { stopHooks: StopHooks; untilResolved: UntilResolved });
  at = await deploy({ config });
});
afterAll(() => at.close());

/** One query from its prompt to its result. */
async function run(turns: readonly Turn[], hooks: object) {
  const stage = await setStage(turns, hooks);
  return { ...stage, ...(await stage.ask('Write the tests.')) };
}

async function setStage(turns: readonly Turn[], hooks: object) {
  const model = await scriptModel(anthropicMessages, turns);
  const home = await makeAgentHome();
  const options = {
    hooks,
    cwd: home.project,
    settingSources: [],
    permissionMode: 'bypassPermissions',
    allowDangerouslySkipPermissions: true,
    env: { ...cleanEnv(home), ...claudeEnv(home, model.url), ...planTools },
  };
  const ask = async (prompt: string, more: object = {}) => {
    const messages: Message[] = [];
    for await (const message of query({ prompt, options: { ...options, ...more } })) messages.push(message);
    const result = messages.find(({ type }) => type === 'result');
    return { messages, result: result?.result, worker: result?.session_id ?? '' };
  };
  return { model, ask };
}

test('it is blocked until its plan is done, and reads the reason', async () => {
  const hooks = stopHooks({ http: at.http });
  const { model, result, worker } = await run([plan, { text: 'one' }, done, { text: 'two' }], hooks);
  expect(result).toBe('two');
  expect(model.requests).toHaveLength(4);
  expect(model.requests[2]?.input).toContain(remains);
  await expectCauses(at, worker, ['incomplete', 'complete']);
  expect(await viewOf(at, worker)).toMatchObject({ agent: 'claude', plan: [{ status: 'completed' }] });
});

test('a session without progress may stop after three blocks', async () => {
  const turns = [plan, ...['one', 'two', 'three', 'four', 'five'].map((text) => ({ text }))];
  const { model, worker } = await run(turns, stopHooks({ http: at.http }));
  expect(model.requests).toHaveLength(5);
  await expectCauses(at, worker, ['incomplete', 'incomplete', 'incomplete', 'capped']);
});

test('its sessions get the given policy', async () => {
  const { model, worker } = await run([plan, { text: 'one' }], stopHooks({ http: at.http, policy: 'free' }));
  expect(model.requests).toHaveLength(2);
  await expectCauses(at, worker, ['no-policy']);
});

test('an escalated session is waited for and continues with the prompt of its resolution', async () => {
  const stuck = { text: 'I need another key. <promise>BLOCKED</promise>' };
  const { model, ask } = await setStage([stuck, { text: 'done' }], stopHooks({ http: at.http, policy: 'stuck' }));
  const { worker } = await ask('Write the tests.');
  const word = untilResolved(worker, { http: at.http });
  const resolution = { by: 'me', verdict: 'resume', prompt: 'Use the other key' };
  await at.client.publish(`own.worker.${worker}.escalation.resolved`, resolution);
  const prompt = (await word) ?? '';
  expect(await ask(prompt, { resume: worker })).toMatchObject({ result: 'done', worker });
  expect(model.requests[1]?.input).toContain('Use the other key');
  await expectCauses(at, worker, ['escalated', 'complete']);
});

test('if the service is killed between two stops, it may stop, and program and person are notified', async () => {
  const own = await deploy({ config, start: serveShipped });
  onTestFinished(() => own.close());
  const told: string[] = [];
  const hooks = stopHooks({ http: own.http, onUnjudged: (message) => told.push(message) });
  const killed = { text: 'two', before: () => own.service.kill('SIGKILL') };
  const { model, messages, result } = await run([plan, { text: 'one' }, killed], hooks);
  expect(result).toBe('two');
  expect(model.requests).toHaveLength(3);
  const note = `stopgate: this stop was not judged: no service at ${own.http}. It is allowed.`;
  expect(told).toEqual([note]);
  expect(JSON.stringify(messages)).toContain(note);
});

test('its types match the SDK’s', async () => {
  const typed = await makeFolder({
    'use.ts': `import type { Options } from '${join(folder, 'sdk.d.ts')}';
import { stopHooks } from '${new URL(built).pathname}';
export const options: Options = { hooks: stopHooks({ http: '127.0.0.1:4280', policy: 'strict' }) };
`,
  });
  onTestFinished(() => typed.remove());
  const flags = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--types',
    '',
  ];
  const tsc = new URL('../../../node_modules/.bin/tsc', import.meta.url).pathname;
  const checked = promisify(execFile)(tsc, [...flags, join(typed.path, 'use.ts')]).catch((error: unknown) => error);
  expect(await checked).toMatchObject({ stdout: '' });
});
