/** Every version of MCP, on stdio and over HTTP. Today's agents use 2025-11-25 or older. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { openHttpClient, openStdioClient } from '../../support/mcp-client.ts';
import { ask } from '../http/request.ts';

let at: Deployment;
beforeAll(async () => {
  at = await deploy();
});
afterAll(() => at.close());

const open = {
  stdio: (version: string) => openStdioClient(['--nats', at.server.url], at.folder.path, version),
  HTTP: (version: string) => openHttpClient(`${at.http}/mcp`, {}, version),
};
const versions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];

test.each(versions.flatMap((version) => [[version, 'stdio'] as const, [version, 'HTTP'] as const]))(
  '%s on %s',
  async (version, transport) => {
    const mcp = await open[transport](version);
    onTestFinished(() => mcp.close());
    expect(mcp.client.getNegotiatedProtocolVersion()).toBe(version);
    expect(mcp.client.getInstructions()).toMatch(/^stopgate decides/);
    const worker = `w-${transport}-${version}`;
    const taskId = `T-${transport}-${version}`;
    expect(await mcp.ok('task_claim', { taskId, worker })).toMatchObject({ taskId, worker });
    expect(await mcp.call('task_get', {})).toMatchObject({
      isError: true,
      text: expect.stringMatching(/takes: taskId$/),
    });
  },
);

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const post = (method: string, params: object, headers: Record<string, string>) =>
  ask(at.http, '/mcp', {
    method: 'POST',
    body: { jsonrpc: '2.0', id: 1, method, params },
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...headers,
    },
  });

test('a request of 2026-07-28 needs no session, and is answered with JSON', async () => {
  const params = { name: 'task_claim', arguments: { taskId: 'T-alone', worker: 'alone' }, _meta: envelope };
  const answer = await post('tools/call', params, { 'mcp-name': 'task_claim' });
  expect(answer).toMatchObject({ status: 200, json: { result: { structuredContent: { taskId: 'T-alone' } } } });
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
});

test('a request of 2026-07-28 whose headers disagree with it is refused', async () => {
  const params = { name: 'task_claim', arguments: { taskId: 'T-odd', worker: 'odd' }, _meta: envelope };
  expect((await post('tools/call', params, { 'mcp-name': 'decide' })).status).toBe(400);
  expect((await post('tools/call', { ...params, _meta: {} }, { 'mcp-name': 'task_claim' })).status).toBe(400);
});

test('nothing can be subscribed to: no list changes, and a stream would outlast its request', async () => {
  const answer = await post('subscriptions/listen', { notifications: { toolsListChanged: true }, _meta: envelope }, {});
  expect(answer.json).toMatchObject({ error: { code: expect.any(Number) } });
});
