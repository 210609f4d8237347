/** The real agents with a scripted model report what they use by their own telemetry, and budgets hold. */
import { appendFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { claudeCode, codexCli, installAgent } from './support/install.ts';
import { claudeScene, codexScene } from './support/scene.ts';
import { expectCauses, viewOf } from './support/workers.ts';

let at: Deployment;
beforeAll(async () => {
  at = await deploy({
    config: JSON.stringify({ policies: { default: { checks: [{ plan: {} }], budget: { tokens: 3 } } } }),
  });
}, 300_000);
afterAll(() => at.close());

const usageOf = async (worker: string): Promise<WorkerView['usage']['session']> =>
  ((await viewOf(at, worker)) as WorkerView).usage.session;

test('Claude Code: each request to its model counts, and at its budget it is told to stop after the tool', async () => {
  const plan = { tool: 'TaskCreate', input: { subject: 'Write the tests', description: 'of the parser' } };
  const { model, run } = await claudeScene({
    program: await installAgent(claudeCode),
    http: at.http,
    // The export of what was used may come behind the stop: the tool leaves it time.
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
  // Neither the third request nor a block: the plan is open.
  expect(model.requests).toHaveLength(2);
  await expectCauses(at, ended.worker, ['bypassed']);
  await expect.poll(async () => (await usageOf(ended.worker)).tokens).toBe(2 * model.requests.length);
  expect((await usageOf(ended.worker)).usd).toBeGreaterThan(0);
});

test('Codex: the end of each response counts', async () => {
  const { home, model, run } = await codexScene({
    program: await installAgent(codexCli),
    http: at.http,
    turns: [{ text: 'done' }],
  });
  const exporter = `exporter = { otlp-http = { endpoint = "${at.http}/v1/logs", protocol = "json" } }`;
  await appendFile(`${home.home}/.codex/config.toml`, `\n[otel]\n${exporter}\n`);
  const ended = await run('Go on.');
  expect(ended.code).toBe(0);
  await expect.poll(async () => (await usageOf(ended.worker)).tokens).toBe(2 * model.requests.length);
});
