/** The real agents with a scripted model report their usage through their own telemetry, and budgets hold. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import type { Deployment } from '../../support/deployment.ts';
import { runCopilot } from './support/copilot.ts';
import { deployForAgents } from './support/deploy.ts';
import { copilot, gemini, type HeadlessAgent, makeHeadlessHome, qwen } from './support/headless.ts';
import { claudeCode, codexCli, installAgent } from './support/install.ts';
import type { AgentHome } from './support/run.ts';
import { claudeScene, codexScene } from './support/scene.ts';
import { scriptModel, type Turn } from './support/scripted-model.ts';
import { expectCauses, viewOf, workersIn } from './support/workers.ts';

let at: Deployment;
beforeAll(async () => {
  at = await deployForAgents({
    config: JSON.stringify({ policies: { default: { checks: [{ plan: {} }], budget: { tokens: 3 } } } }),
  });
});
afterAll(() => at.close());

const usageOf = async (worker: string): Promise<WorkerView['usage']['session']> =>
  ((await viewOf(at, worker)) as WorkerView).usage.session;

test('Claude Code: each model request counts, and when the budget is used up, it has to stop after the tool', async () => {
  const plan = { tool: 'TaskCreate', input: { subject: 'Write the tests', description: 'of the parser' } };
  const { model, run } = await claudeScene({
    program: await installAgent(claudeCode),
    http: at.http,
    // Usage may be exported after the stop. The tool leaves time for it.
    turns: [
      plan,
      { tool: 'Bash', input: { command: 'sleep 2', description: 'wait' } },
      { text: 'one' },
      { text: 'two' },
    ],
    init: ['--usage', '--user'],
    env: { OTEL_LOGS_EXPORT_INTERVAL: '200' },
  });
  const ended = await run('Write the tests.');
  expect(ended.code).toBe(0);
  // No third request and no block, although the plan is open.
  expect(model.requests).toHaveLength(2);
  await expectCauses(at, ended.worker, ['bypassed']);
  await expect.poll(async () => (await usageOf(ended.worker)).tokens).toBe(2 * model.requests.length);
  expect((await usageOf(ended.worker)).usd).toBeGreaterThan(0);
});

test('Codex: each response counts', async () => {
  const { model, run } = await codexScene({
    program: await installAgent(codexCli),
    http: at.http,
    turns: [{ text: 'done' }],
    init: ['--usage'],
  });
  const ended = await run('Go on.');
  expect(ended.code).toBe(0);
  await expect.poll(async () => (await usageOf(ended.worker)).tokens).toBe(2 * model.requests.length);
});

/**
 * A home prepared by `init`, and a model that never finishes. Its tool leaves time for exporters, which send every 5 s.
 */
async function makeScene(agent: HeadlessAgent, tool: Turn) {
  const program = await installAgent(agent.program);
  const home = await makeHeadlessHome(agent, { program, http: at.http, init: ['--user', '--usage'] });
  const texts = ['one', 'two', 'three'].map((text) => ({ text }));
  return { program, home, model: await scriptModel(agent.api, [agent.open, tool, ...texts]) };
}
const workerIn = async (home: AgentHome): Promise<string> => (await workersIn(at, home))[0]?.worker ?? '';

const sleep: Turn = {
  tool: 'run_shell_command',
  // Not `sleep`, which Qwen Code refuses to wait for.
  input: { command: "node -e 'setTimeout(() => {}, 7000)'", description: 'wait', is_background: false },
};

// Gemini CLI learns that its budget is used up at the end of the tool, Qwen Code at its next stop.
test.each([
  ['gemini', gemini, 2],
  ['qwen', qwen, 3],
] as const)('%s: each request to its model counts, and its budget ends it', async (_name, agent, requests) => {
  const { program, home, model } = await makeScene(agent, sleep);
  expect((await agent.run(program, home, model.url)).code).toBe(0);
  const worker = await workerIn(home);
  // Not blocked, although the plan is open.
  expect(model.requests).toHaveLength(requests);
  await expectCauses(at, worker, ['bypassed']);
  await expect.poll(async () => (await usageOf(worker)).tokens).toBe(2 * requests);
});

test('Copilot CLI: each model request counts, with the variables that init prints', async () => {
  const { program, home, model } = await makeScene(copilot, {
    tool: 'bash',
    input: { command: 'true', description: 'x' },
  });
  const variables = {
    COPILOT_OTEL_ENABLED: 'true',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${at.http}/v1/traces`,
  };
  expect((await runCopilot(program, home, model.url, 'do the task', variables)).code).toBe(0);
  const worker = await workerIn(home);
  // Copilot sends them at the end of its turn.
  await expect.poll(async () => (await usageOf(worker)).tokens).toBe(2 * model.requests.length);
});
