/** `stopgate mcp`: its output, how it ends, and what it does while the service is down. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { type Deployment, deploy, makeFolder } from '../../support/deployment.ts';
import { openStdioClient } from '../../support/mcp-client.ts';
import { startNatsServer } from '../../support/nats-server.ts';
import { endService, startService } from '../../support/service.ts';

const hello = {
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const line = (id: number | null, message: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', ...(id === null ? {} : { id }), ...message })}\n`;
const greeting = line(1, hello) + line(null, { method: 'notifications/initialized' });
const callLine = (id: number, name: string, input: object = {}) =>
  line(id, { method: 'tools/call', params: { name, arguments: input } });
const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((it) => it !== '')
    .map((it) => JSON.parse(it) as { id: number; result?: Record<string, unknown> });

describe('with a service', () => {
  let at: Deployment;
  beforeAll(async () => {
    at = await deploy();
  });
  afterAll(() => at.close());

  test('stdout carries only the protocol; calls before the end of stdin are answered; the exit code is 0', async () => {
    const stdin = greeting + callLine(2, 'task_claim', { taskId: 'S-1' }) + line(3, { method: 'tools/list' });
    const ended = await runCommand(['mcp', '--nats', at.server.url, '--worker', 'w1'], { cwd: at.folder.path, stdin });
    const answers = linesOf(ended.stdout);
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3]);
    expect(answers.find(({ id }) => id === 2)?.result).toMatchObject({ structuredContent: { worker: 'w1' } });
    expect([ended.code, ended.stderr]).toEqual([0, '']);
  });

  test('a line that is not JSON gets a JSON-RPC error and a note on stderr, and the connection stays open', async () => {
    const stdin = `${greeting}{nonsense\n${callLine(2, 'task_get', { taskId: 'nobody' })}`;
    const ended = await runCommand(['mcp', '--nats', at.server.url], { cwd: at.folder.path, stdin });
    const answers = linesOf(ended.stdout);
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, null]);
    expect(answers.find(({ id }) => id === null)).toMatchObject({ jsonrpc: '2.0', error: { code: -32700 } });
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/^stopgate mcp: .*JSON/) });
  });

  test('Ctrl-C ends it at once, with exit code 0', async () => {
    const stdin = new PassThrough();
    const command = startCommand(['mcp', '--nats', at.server.url], { cwd: at.folder.path, stdin });
    stdin.write(greeting);
    await command.printed(/"id":1/);
    // Held for a minute; nobody waits for it.
    stdin.write(callLine(2, 'decide', { worker: 'w2', holdMs: 60_000 }));
    expect(await command.kill('SIGINT')).toBe(0);
  });

  test.each([
    [['--worker', 'a.b'], /'a\.b' is not the id of a worker/],
    [['--fleet', 'a.b'], /--fleet/],
    [['--creds', ''], /--creds needs a value/],
    [['--port', '1'], /unknown option '--port'/],
    [['w1'], /too many arguments for 'mcp'/],
  ])('bad usage %j: exit code 2, and nothing on stdout', async (args, message) => {
    const ended = await runCommand(['mcp', ...args], { cwd: at.folder.path });
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
  });
});

test('it starts without a service, says how to start one, and works once there is one, also after a restart', async () => {
  const folder = await makeFolder();
  onTestFinished(() => folder.remove());
  const server = await startNatsServer();
  onTestFinished(() => server.stop());
  await server.kill();
  const mcp = await openStdioClient(['--nats', server.url, '--worker', 'w1'], folder.path);
  onTestFinished(() => mcp.close());
  const away = await mcp.call('task_claim', { taskId: 'A-1' });
  expect(away).toMatchObject({
    isError: true,
    text: expect.stringMatching(/no NATS server at .*"npx stopgate dev".*call again/),
  });

  await server.restart();
  expect(await mcp.call('task_claim', { taskId: 'A-1' })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/no stopgate service serves fleet 'main'.*"npx stopgate serve"/),
  });
  const service = await startService(['serve', '--nats', server.url, '--http', 'off'], folder.path);
  onTestFinished(() => endService(service));
  expect(await mcp.ok('task_claim', { taskId: 'A-1' })).toMatchObject({ worker: 'w1', refused: [] });

  await server.kill();
  expect((await mcp.call('worker_get')).isError).toBe(true);
  await server.restart();
  await expect.poll(async () => (await mcp.call('worker_get')).data).toMatchObject({ worker: 'w1', tasks: ['A-1'] });
});

test("next to `stopgate dev` it finds the service without options, and an agent's rights are enough", async () => {
  const folder = await makeFolder();
  onTestFinished(() => folder.remove());
  const early = await openStdioClient(['--worker', 'w1'], folder.path);
  onTestFinished(() => early.close());
  const dev = startCommand(['dev', '--port', '0', '--http', 'off'], { cwd: folder.path });
  onTestFinished(async () => void (await dev.kill()));
  await dev.printed(/"ready":true.*\n/);
  // Without the operator's credentials, only an agent's rights are left.
  await rm(join(folder.path, '.stopgate/credentials/operator.json'));
  await early.ok('hook_register', { taskId: 'D-1' });
  const { iterationId } = await early.ok('iteration_start', { taskId: 'D-1', maxIterations: 2 });
  expect(
    await early.ok('iteration_validate', { iterationId, agentOutput: '<promise>COMPLETE</promise>' }),
  ).toMatchObject({ completionSignal: 'COMPLETE' });
  await early.ok('task_claim', { taskId: 'D-1' });
  expect(await early.ok('decide')).toMatchObject({ decision: 'block', cause: 'incomplete' });
  expect(await early.ok('verify')).toMatchObject({ complete: false });
});
