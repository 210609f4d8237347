/** The real Claude Code with a scripted model lists and calls the tools of our MCP server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { main } from '../../support/shipped.ts';
import { anthropicMessages } from './support/anthropic.ts';
import { claudeCode, installAgent } from './support/install.ts';
import { claudeEnv, makeAgentHome, runAgent } from './support/run.ts';
import { scriptModel } from './support/scripted-model.ts';

let at: Deployment;
let claude: string;
beforeAll(async () => {
  claude = await installAgent(claudeCode);
  at = await deploy();
});
afterAll(() => at.close());

const servers = [
  [
    'stdio',
    () => ({ command: process.execPath, args: [main, 'mcp', '--nats', at.server.url, '--worker', 'claude-stdio'] }),
  ],
  ['HTTP', () => ({ type: 'http', url: `${at.http}/mcp?worker=claude-http` })],
] as const;

test.each(servers)('it runs the whole loop over %s', async (name, server) => {
  const taskId = `T-${name}`;
  const call = (tool: string, input: object) => ({ tool: `mcp__stopgate__${tool}`, input });
  const first = { iterationId: `IT-1-${taskId}` };
  const model = await scriptModel(anthropicMessages, [
    call('task_claim', { taskId }),
    call('hook_register', { taskId, hookType: 'promise' }),
    call('iteration_start', { taskId, maxIterations: 3 }),
    call('iteration_validate', { ...first, agentOutput: 'not yet' }),
    call('iteration_next', first),
    call('iteration_next', first),
    call('iteration_validate', { iterationId: `IT-2-${taskId}`, agentOutput: '<promise>COMPLETE</promise>' }),
    call('iteration_complete', { iterationId: `IT-2-${taskId}`, completionPromise: 'COMPLETE' }),
    call('task_complete', { taskId }),
    { text: 'All is done.' },
  ]);
  const home = await makeAgentHome();
  const config = await home.write('mcp.json', JSON.stringify({ mcpServers: { stopgate: server() } }));
  const flags = ['--mcp-config', config, '--strict-mcp-config', '--permission-mode', 'bypassPermissions'];
  const ended = await runAgent(claude, ['-p', 'do the task', '--output-format', 'json', ...flags], {
    at: home,
    env: claudeEnv(home, model.url),
  });
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('All is done.') });

  const [opening] = model.requests;
  expect(opening?.tools).toEqual(expect.arrayContaining(['mcp__stopgate__hook_register', 'mcp__stopgate__decide']));
  const inputs = model.requests.map((request) => request.input);
  expect(inputs[1]).toContain('"state":"working"');
  expect(inputs[4]).toContain('"completionSignal":"CONTINUE"');
  // The model gets a tool error as text.
  expect(inputs[6]).toContain(`continue with IT-2-${taskId}`);
  expect(inputs[7]).toContain('"completionSignal":"COMPLETE"');
  const { body } = await at.client.ask(`get.task.${taskId}`);
  expect(body).toMatchObject({ state: 'stopped', outcome: 'completed', iteration: 2, hooks: [] });
});
