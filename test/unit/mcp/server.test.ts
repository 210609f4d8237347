/** The MCP server alone, over a service in memory: generated ids, and how bugs are reported. */
import { PassThrough } from 'node:stream';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { createMcpServer } from '../../../src/mcp/server.ts';
import { serveStdio } from '../../../src/mcp/stdio.ts';
import { withNextStep } from '../../../src/mcp/tools/hooks.ts';
import { createFakeService } from '../../integration/http/fake-service.ts';

async function connect(fault: Error | null = null) {
  const port = createFakeService();
  port.views.set('T-1', { task: 'T-1', iteration: null, hooks: [], checkpoints: [], refused: [] });
  port.fault = fault;
  const onBug = vi.fn();
  const server = createMcpServer({ port, newId: () => 'id1', onBug });
  const client = new Client({ name: 'test', version: '1' });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(ours), client.connect(theirs)]);
  onTestFinished(() => client.close());
  return { port, client, onBug };
}

test('hooks and checkpoints get generated ids', async () => {
  const { port, client } = await connect();
  const hook = await client.callTool({ name: 'hook_register', arguments: { taskId: 'T-1', hookType: 'tdd' } });
  const saved = await client.callTool({ name: 'checkpoint_create', arguments: { taskId: 'T-1' } });
  expect(hook.structuredContent).toMatchObject({ hookId: 'HOOK-id1' });
  expect(saved.structuredContent).toMatchObject({ checkpointId: 'CP-id1' });
  expect(port.published).toMatchObject([
    { entity: 'task', id: 'T-1', type: 'hook.registered', data: { hook: 'HOOK-id1', type: 'tdd' } },
    { entity: 'task', id: 'T-1', type: 'checkpoint.saved', data: { checkpoint: 'CP-id1' } },
  ]);
});

test('the text of an answer is its structured content', async () => {
  const { client } = await connect();
  const answer = await client.callTool({ name: 'task_get', arguments: { taskId: 'T-1' } });
  expect(answer.content).toEqual([{ type: 'text', text: JSON.stringify(answer.structuredContent) }]);
});

test('a bug is reported to us, and its details not to the client', async () => {
  const bug = new TypeError('cannot read properties of the secret');
  const { client, onBug } = await connect(bug);
  const answer = await client.callTool({ name: 'decide', arguments: { worker: 'w1' } });
  expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^internal error/) }] });
  expect(JSON.stringify(answer)).not.toContain('secret');
  expect(onBug).toHaveBeenCalledWith(bug, 'decide');
});

const serve = (stdin: PassThrough, stdout = new PassThrough()) =>
  serveStdio({
    port: createFakeService(),
    worker: null,
    spell: String,
    stdin,
    stdout,
    signal: new AbortController().signal,
    note: () => {},
  });

test('a broken stdin is a failure, a closed one is not', async () => {
  const [ends, breaks] = [new PassThrough(), new PassThrough()];
  const [ended, broken] = [serve(ends), expect(serve(breaks)).rejects.toThrow('read failed')];
  ends.end();
  breaks.destroy(new Error('read failed'));
  await ended;
  await broken;
});

test('an endless line is not buffered forever', async () => {
  const stdin = new PassThrough();
  const served = expect(serve(stdin)).rejects.toThrow('over 16777216 bytes');
  for (let chunk = 0; chunk <= 16; chunk += 1) stdin.write(Buffer.alloc(1_048_576, 'x'));
  await served;
});

test('it ends when stdout is closed', async () => {
  const stdout = new PassThrough();
  const served = serve(new PassThrough(), stdout);
  stdout.destroy(new Error('write EPIPE'));
  await served;
});

test('only a refusal about an iteration says how to start another', async () => {
  const fail = (error: Error) => withNextStep(() => Promise.reject(error));
  await expect(fail(new AppError('entry.refused', 'it has ended'))).rejects.toThrow(
    'start a new loop with iteration_start',
  );
  await expect(fail(new AppError('log.unavailable', 'no NATS'))).rejects.toThrow(/^no NATS$/);
});
