/** The real Agent SDK asks its program a question, and an operator answers it. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { deploy } from '../../support/deployment.ts';
import { runShipped } from '../../support/shipped.ts';
import { anthropicMessages } from './support/anthropic.ts';
import { agentSdk, installPackage } from './support/install.ts';
import { claudeEnv, cleanEnv, makeAgentHome } from './support/run.ts';
import { scriptModel } from './support/scripted-model.ts';
import { workersIn } from './support/workers.ts';

type Query = (asked: { prompt: string; options: object }) => AsyncIterable<object>;
type StopHooks = (options: { http: string }) => object;
const built = new URL('../../../dist/src/agents/claude/agent-sdk.js', import.meta.url).href;

const option = (label: string) => ({ label, description: `the ${label} one` });
const key = { question: 'Which key?', header: 'Key', multiSelect: false, options: [option('Old'), option('New')] };

test('an operator’s answer is used while `canUseTool` waits for a person', async () => {
  const folder = await installPackage(agentSdk);
  const { query } = (await import(pathToFileURL(join(folder, 'sdk.mjs')).href)) as { query: Query };
  const { stopHooks } = (await import(built)) as { stopHooks: StopHooks };
  const at = await deploy({ config: 'policies: { default: { ask: 5m } }\n' });
  onTestFinished(() => at.close());
  const model = await scriptModel(anthropicMessages, [
    { tool: 'AskUserQuestion', input: { questions: [key] } },
    { text: 'done' },
  ]);
  const home = await makeAgentHome();
  const canUseTool = (_tool: string, _input: object, { signal }: { signal: AbortSignal }) =>
    new Promise((_done, reject) => signal.addEventListener('abort', () => reject(new Error('answered elsewhere'))));
  const options = {
    hooks: stopHooks({ http: at.http }),
    canUseTool,
    cwd: home.project,
    settingSources: [],
    env: { ...cleanEnv(home), ...claudeEnv(home, model.url) },
  };
  const run = async () => {
    for await (const _message of query({ prompt: 'do the task', options }));
  };
  const ended = run();
  const asking = async () => (await workersIn(at, home)).find(({ inputs }) => inputs.some(({ request }) => request));
  await expect.poll(asking).toBeDefined();
  const words = ['answer', (await asking())?.worker ?? '', '--allow', '--message', 'New', '--yes', '--by', 'ann'];
  const answered = await runShipped([...words, '--nats', at.server.url], { cwd: at.folder.path });
  expect(answered).toMatchObject({ code: 0, stderr: '' });
  await ended;
  expect(model.requests[1]?.input).toContain('"Which key?"="New"');
});
