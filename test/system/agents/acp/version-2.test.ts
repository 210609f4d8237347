/** The real agent that speaks version 2 of ACP today: codex-acp, with a scripted model and a real service. */
import { tmpdir } from 'node:os';
import { methods } from '@agentclientprotocol/sdk/experimental/v2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEditor2 } from '../../../support/acp-editor-2.ts';
import { type Deployment, deploy } from '../../../support/deployment.ts';
import { installAgent } from '../support/install.ts';
import { cleanEnv, makeAgentHome } from '../support/run.ts';
import { scriptModel } from '../support/scripted-model.ts';
import { done, expectCauses, payloadsOf, viewOf } from '../support/workers.ts';
import { acpAgents } from './acp-agents.ts';

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config: `policies: { default: { checks: [{ files: [report.md] }] } }\nroots: [${tmpdir()}]\n` });
});
afterAll(() => at.close());

test('codex-acp in version 2 works on after a block, and is idle once', async () => {
  const codex = acpAgents.find(({ agent }) => agent === 'codex');
  if (codex === undefined) throw new Error('no such agent');
  const program = await installAgent(codex.program);
  const model = await scriptModel(codex.api, [done, codex.shell('echo 3 > report.md'), { text: 'Now I am.' }]);
  const home = await makeAgentHome();
  await codex.prepare(home, model.url);
  const node = process.execPath.slice(0, process.execPath.lastIndexOf('/'));
  const { context, updates, states, initialized } = await openEditor2({
    cwd: home.project,
    args: ['--nats', at.server.url],
    agent: [program, ...codex.args],
    env: { ...cleanEnv(home), ...codex.env(home, model.url), PATH: `${node}:/usr/local/bin:/usr/bin:/bin` },
  });
  expect(initialized).toMatchObject({ protocolVersion: 2 });
  const { sessionId } = await context.request(methods.agent.session.new, { cwd: home.project, mcpServers: [] });
  const prompt = [{ type: 'text' as const, text: 'Do the task.' }];
  await context.request(methods.agent.session.prompt, { sessionId, prompt });
  await expect.poll(() => states().at(-1)).toBe('idle');
  expect(states().filter((state) => state === 'idle')).toHaveLength(1);
  expect(model.requests).toHaveLength(3);
  expect(model.requests[1]?.input).toContain('Missing required files: report.md');
  expect(JSON.stringify(updates)).toContain(
    'stopgate: this stop was blocked (1 of 3): Missing required files: report.md',
  );
  await expectCauses(at, sessionId, ['incomplete', 'complete']);
  expect(await viewOf(at, sessionId)).toMatchObject({ agent: 'codex', cwd: home.project, state: 'stopped' });
  expect(await payloadsOf(at, sessionId, 'tool.used')).toMatchObject([{ ok: true }]);
});
