/** Admission: hosts, origins and tokens that are accepted or refused. */
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { hashOfToken } from '../../../src/config/access-tokens.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { ask } from './request.ts';
import { errorOf, useServer } from './server-fixture.ts';

const http = useServer({ isShared: true });

const here = () => new URL(http.server.url).host;

test.each(['127.0.0.1', '127.0.0.1:1', 'localhost:8080', 'LOCALHOST', '[::1]:80', '[::1]'])(
  'accepts host %s',
  async (host) => {
    expect((await ask(http.server.url, '/healthz', { headers: { host } })).status).toBe(200);
  },
);

test.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', '10.0.0.1', '[::2]', '127.0.0.1:x'])(
  'refuses host %j',
  async (host) => {
    const answer = await ask(http.server.url, '/healthz', { headers: { host } });
    expect([answer.status, errorOf(answer).code]).toEqual([421, 'MISDIRECTED']);
  },
);

test('refuses a request without a Host header', async () => {
  const socket = connect(Number(new URL(http.server.url).port), '127.0.0.1');
  socket.end('GET /healthz HTTP/1.0\r\n\r\n');
  let text = '';
  for await (const part of socket) text += String(part);
  expect(text).toMatch(/^HTTP\/1\.1 421 /);
});

test('accepts its own origin and refuses every other', async () => {
  const status = async (origin: string) =>
    (await ask(http.server.url, '/hooks/claude', { headers: { origin }, body: recorded('PreToolUse') })).status;
  expect(await status(`http://${here()}`)).toBe(204);
  expect(await status('https://evil.example')).toBe(403);
  expect(await status('http://127.0.0.1:1')).toBe(403);
  expect(await status('null')).toBe(403);
  const answer = await ask(http.server.url, '/hooks/claude', {
    method: 'OPTIONS',
    headers: { origin: 'http://a.example' },
  });
  expect([answer.status, errorOf(answer).code]).toEqual([403, 'FORBIDDEN']);
  expect(http.service.published.map(({ type }) => type)).toEqual(['worker.registered', 'tool.started']);
});

test('if a token is set, requires it for everything but /healthz', async () => {
  const guarded = await http.open({ token: 'secret-1' });
  const status = async (path: string, authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization };
    return (await ask(guarded.url, path, { headers })).status;
  };
  for (const path of ['/', '/readyz', '/metrics', '/api/main/list/workers', '/nothing']) {
    expect(await status(path), path).toBe(401);
  }
  expect(await status('/healthz')).toBe(200);
  expect(await status('/readyz', 'Bearer secret-1')).toBe(200);
  expect(await status('/readyz', 'bearer  secret-1')).toBe(200);
  for (const wrong of ['Bearer secret-2', 'Bearer secret', 'Basic secret-1', 'secret-1', 'Bearer ', '']) {
    expect(await status('/readyz', wrong), wrong).toBe(401);
  }
  const unknown = await ask(guarded.url, '/readyz', { headers: { authorization: 'Bearer secret-2' } });
  expect(errorOf(unknown).message).toContain('this token is not known');
  const answer = await ask(guarded.url, '/hooks/claude', { body: recorded('Stop') });
  expect([answer.status, answer.headers['www-authenticate'], errorOf(answer).code]).toEqual([
    401,
    'Bearer',
    'UNAUTHORIZED',
  ]);
  expect(http.service.requests).toEqual([]);
});

test('stays closed to others when its last token is removed', async () => {
  const tokens = [
    { name: 'box', role: 'agent', workers: null, fleets: null, hashes: [hashOfToken('secret-1')] } as const,
  ];
  const { url } = await http.open({ publicUrl: 'https://stopgate.example.com', tokens: () => tokens });
  tokens.pop();
  expect((await ask(url, '/readyz')).status).toBe(401);
});

test('of two tokens, the one with the higher role counts', async () => {
  const token = (role: 'read' | 'agent') => ({
    name: role,
    role,
    workers: null,
    fleets: null,
    hashes: [hashOfToken(role)],
  });
  const { url } = await http.open({ tokens: () => [token('read'), token('agent')] });
  const authorization = 'Bearer read';
  const { headers } = await ask(url, '/api/main/session', { headers: { authorization }, body: { token: 'read' } });
  const [cookie = ''] = headers['set-cookie'] ?? [];
  expect((await ask(url, '/api/main/decide/w1', { headers: { cookie }, body: {} })).status).toBe(403);
  const both = { cookie, authorization: 'Bearer agent' };
  expect((await ask(url, '/api/main/decide/w1', { headers: both, body: {} })).status).toBe(200);
});

test('refuses to listen beyond loopback without a token', async () => {
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.org', '127.evil.example']) {
    await expect(http.open({ host }), host).rejects.toMatchObject({ code: 'config.bad' });
  }
  await expect(http.open({ token: '' })).rejects.toMatchObject({ code: 'config.bad' });
});

test('with a token, accepts every host name if it listens on all addresses', async () => {
  const { url } = await http.open({ host: '0.0.0.0', token: 'secret-1' });
  const local = url.replace('0.0.0.0', '127.0.0.1');
  expect((await ask(local, '/healthz', { headers: { host: 'build-7.example:80' } })).status).toBe(200);
  const named = await http.open({ host: 'localhost', token: 'secret-1' });
  expect((await ask(named.url, '/healthz', { headers: { host: 'build-7.example:80' } })).status).toBe(421);
});

test('names the port if it is in use', async () => {
  const port = Number(new URL(http.server.url).port);
  await expect(http.open({ port })).rejects.toMatchObject({
    code: 'config.bad',
    message: expect.stringContaining(`:${port}`),
  });
});
