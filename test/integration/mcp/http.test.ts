/** `/mcp` as an HTTP endpoint: admission, replies to malformed requests, and no state between calls. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { openHttpClient } from '../../support/mcp-client.ts';
import { ask } from '../http/request.ts';

const accept = 'application/json, text/event-stream';
const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const json = { accept, 'content-type': 'application/json' };

describe('on loopback', () => {
  let at: Deployment;
  beforeAll(async () => {
    at = await deploy();
  });
  afterAll(() => at.close());
  const post = (body: object | string, headers: Record<string, string> = {}, path = '/mcp') =>
    ask(at.http, path, { method: 'POST', body, headers: { ...json, ...headers } });

  test('replies with JSON and the common headers, and needs no session', async () => {
    const answer = await post(listTools);
    expect(answer).toMatchObject({ status: 200, json: { id: 1, result: { tools: expect.any(Array) } } });
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-type': expect.stringMatching(/^application\/json/),
    });
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect((await ask(at.http, '/api')).text).toContain('POST /mcp');
  });

  test.each([
    ['a foreign origin', { origin: 'https://evil.example' }, 403],
    ['a foreign host', { host: 'evil.example' }, 421],
    ['no JSON by its type', { 'content-type': 'text/plain' }, 415],
    ['a client that takes no JSON', { accept: 'text/html' }, 406],
    ['a version of the protocol that is none', { 'mcp-protocol-version': '1999-01-01' }, 400],
  ])('%s is refused', async (_what, headers, status) => {
    expect((await post(listTools, headers)).status).toBe(status);
  });

  test('refuses a body that is not a request', async () => {
    expect((await post('{nonsense')).status).toBe(400);
    expect((await post('[]')).status).toBe(400);
    expect((await post('')).status).toBe(400);
    expect((await post({ hello: 1 })).json).toMatchObject({ error: { code: expect.any(Number) } });
    expect((await post(listTools, {}, '/mcp?worker=a.b')).status).toBe(400);
    expect((await post('', { 'content-length': String(17 * 1024 * 1024) })).status).toBe(413);
  });

  test('GET and DELETE are not allowed', async () => {
    for (const method of ['GET', 'DELETE']) {
      const answer = await ask(at.http, '/mcp', { method, headers: { accept: 'text/event-stream' } });
      expect(answer).toMatchObject({ status: 405, json: { jsonrpc: '2.0', error: { code: -32000 } } });
      expect(answer.headers.allow).toBe('POST');
    }
    expect((await ask(at.http, '/mcp', { headers: { origin: 'https://evil.example' } })).status).toBe(403);
  });

  test('a notification is accepted without a reply', async () => {
    expect(await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).toMatchObject({
      status: 202,
      text: '',
    });
  });

  test('a hundred concurrent calls each get their own result', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, id) =>
        post({
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name: 'task_claim', arguments: { taskId: `M-${id}`, worker: `m-${id}` } },
        }),
      ),
    );
    for (const [id, answer] of answers.entries())
      expect(answer.json).toMatchObject({
        id,
        result: { structuredContent: { taskId: `M-${id}`, worker: `m-${id}` } },
      });
  });
});

test('with a token set, a client must present it', async () => {
  const at = await deploy({ env: { STOPGATE_TOKEN: 'a-long-random-word' } });
  try {
    await expect(openHttpClient(`${at.http}/mcp`)).rejects.toThrow();
    expect((await ask(at.http, '/mcp', { body: listTools, headers: { accept } })).status).toBe(401);
    expect((await ask(at.http, '/mcp')).status).toBe(401);
    const mcp = await openHttpClient(`${at.http}/mcp`, { authorization: 'Bearer a-long-random-word' });
    expect(await mcp.ok('task_claim', { taskId: 'T-1', worker: 'w1' })).toMatchObject({ taskId: 'T-1' });
    await mcp.close();
  } finally {
    await at.close();
  }
});

test('a tool reports an unavailable log, and works again when it is back', async () => {
  const at = await deploy({ nats: {} });
  try {
    const mcp = await openHttpClient(`${at.http}/mcp?worker=w1`);
    await at.server.kill('SIGKILL');
    expect(await mcp.call('task_claim', { taskId: 'T-1' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/\. Call again in a moment$/),
    });
    await at.server.restart();
    await expect
      .poll(async () => (await mcp.call('task_claim', { taskId: 'T-2' })).data)
      .toMatchObject({ worker: 'w1' });
    await mcp.close();
  } finally {
    await at.close();
  }
});
