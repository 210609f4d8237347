/** Tokens by role and worker: what each may do, the messages of refusals, and the names in the log. */
import { beforeEach, expect, test } from 'vitest';
import { type AccessRole, type AccessToken, hashOfToken } from '../../../src/config/access-tokens.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { ask } from './request.ts';
import { errorOf, useServer } from './server-fixture.ts';

const token = (name: string, role: AccessRole, workers: string[] | null = null): AccessToken => ({
  name,
  role,
  workers,
  fleets: null,
  hashes: [hashOfToken(`secret-of-${name}`)],
});
const everyone = [
  token('reader', 'read'),
  token('robot', 'agent'),
  token('alice', 'operator'),
  token('box', 'agent', ['w1', 'box-*']),
  token('ci', 'read', ['w1']),
  token('bob', 'operator', ['w1']),
  token('wild', 'operator', ['ab*ba', '*-ci-*', 'x*y*z']),
];

const tokens: AccessToken[] = [];
const http = useServer({ isShared: true, tokens: () => tokens });
beforeEach(() => void tokens.splice(0, tokens.length, ...everyone));

const send = (name: string | null, path: string, body?: object) =>
  ask(http.server.url, path, {
    headers: name === null ? {} : { authorization: `Bearer secret-of-${name}` },
    ...(body === undefined ? {} : { body }),
  });

const w1 = { by: 'me', id: 'w1' };
test.each([
  ['reader', '/api/main/list/workers', undefined, 200],
  ['reader', '/metrics', undefined, 200],
  ['reader', '/api/main/verify/w9', {}, 200],
  ['reader', '/api/main/decide/w1', {}, 403],
  ['reader', '/api/main/publish/worker/w1/tool/used', { tool: 'x' }, 403],
  ['reader', '/hooks/claude', recorded('Stop'), 403],
  ['reader', '/mcp', {}, 403],
  ['reader', '/api/main/operator/acknowledge', w1, 403],
  ['robot', '/api/main/list/workers', undefined, 200],
  ['robot', '/api/main/decide/w9', {}, 200],
  ['robot', '/hooks/claude', recorded('PreToolUse'), 204],
  ['robot', '/api/main/operator/acknowledge', w1, 403],
  ['alice', '/api/main/decide/w1', {}, 200],
  ['alice', '/api/main/operator/acknowledge', w1, 200],
  ['box', '/api/main/decide/w1', {}, 200],
  ['box', '/api/main/decide/box-7', {}, 200],
  ['box', '/api/main/decide/w2', {}, 403],
  ['box', '/api/main/decide/a-box-7', {}, 403],
  ['box', '/api/main/evaluate/T-1', {}, 200],
  ['box', '/api/main/publish/worker/w2/tool/used', { tool: 'x' }, 403],
  ['box', '/api/main/publish/worker/w1/tool/used', { tool: 'x' }, 200],
  ['box', '/api/main/publish/task/T-1/task/created', {}, 200],
  ['box', '/hooks/claude', recorded('PreToolUse'), 403],
  ['box', '/api/main/list/workers', undefined, 403],
  ['box', '/api/main/stream', undefined, 403],
  ['box', '/metrics', undefined, 403],
  ['box', '/readyz', undefined, 200],
  ['ci', '/api/main/verify/w1', {}, 200],
  ['ci', '/api/main/verify/w2', {}, 403],
  ['ci', '/api/main/decide/w1', {}, 403],
  ['ci', '/api/main/history/w2.jsonl', undefined, 403],
  ['ci', '/api/main/timeline/worker/w2', undefined, 403],
  ['bob', '/api/main/operator/retire', w1, 200],
  ['bob', '/api/main/operator/retire', { ...w1, id: 'w2' }, 403],
  ['bob', '/api/main/operator/pause', { ...w1, forMs: 60_000 }, 200],
  ['bob', '/api/main/operator/unpause', { ...w1, id: 'w2' }, 403],
  ['robot', '/api/main/operator/pause', w1, 403],
  ['bob', '/api/main/operator/acknowledge', { ...w1, entity: 'task' }, 403],
  ['wild', '/api/main/decide/abba', {}, 200],
  ['wild', '/api/main/decide/ab-ba', {}, 200],
  ['wild', '/api/main/decide/aba', {}, 403],
  ['wild', '/api/main/decide/a-ci-b', {}, 200],
  ['wild', '/api/main/decide/a-ci', {}, 403],
  ['wild', '/api/main/decide/x-yy-z', {}, 200],
  ['wild', '/api/main/decide/x-z-y', {}, 403],
  ['wild', '/api/main/operator/retire', { ...w1, id: `${'-ci-'.repeat(20_000)}\n` }, 400],
  ['nobody', '/api/main/decide/w1', {}, 401],
  [null, '/api/main/decide/w1', {}, 401],
  [null, '/readyz', undefined, 401],
  [null, '/healthz', undefined, 200],
] as const)('%s at %s', async (name, path, body, status) => {
  const answer = await send(name, path, body);
  expect([answer.status, answer.text]).toEqual([status, answer.text]);
  if (status >= 400) expect(http.service.requests).toEqual([]);
});

test('is refused with a message', async () => {
  const why = async (...sent: Parameters<typeof send>) => errorOf(await send(...sent)).message;
  expect(await why('robot', '/api/main/operator/retire', w1)).toBe(
    "the token 'robot' has the role agent, and this needs the role operator",
  );
  expect(await why('box', '/api/main/decide/w2', {})).toBe("the token 'box' is not for the worker 'w2'");
  expect(await why('box', '/metrics')).toBe(
    "the token 'box' is limited to some workers, but this concerns all of them",
  );
});

/** Sub-agents of the session `box`, whose names match the token's workers. */
test.each([
  ['copilot', { sessionId: 'box', agentId: '1-x', agentType: 't', hook_event_name: 'subagentStart' }],
  ['claude', { ...recorded('PreToolUse'), session_id: 'box', agent_id: '1-y', agent_type: 't' }],
  [
    'claude',
    {
      session_id: 'box',
      agent_id: 'known',
      agent_type: 't',
      hook_event_name: 'PostToolUse',
      tool_name: 'TaskUpdate',
      tool_input: { taskId: '9', status: 'completed' },
      tool_response: { success: true },
    },
  ],
])('a hook of %s that would write to a foreign parent stores nothing', async (agent, body) => {
  const view = { worker: 'box-known', presence: 'active', agent, cwd: null, parent: 'box', plan: [] };
  http.service.views.set('box-known', { ...view, lastDecision: null, background: [], inputs: [], labels: {} });
  const answer = await send('box', `/hooks/${agent}`, body);
  expect([answer.status, errorOf(answer).message]).toEqual([403, "the token 'box' is not for the worker 'box'"]);
  expect(http.service.published).toEqual([]);
  expect((await send('robot', `/hooks/${agent}`, body)).status).toBeLessThan(300);
});

test('an MCP tool can only act for the workers of its token', async () => {
  const { url } = http.server;
  const call = (worker: string) =>
    ask(url, '/mcp', {
      headers: { authorization: 'Bearer secret-of-box', accept: 'application/json, text/event-stream' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'probe', arguments: { worker } } },
    });
  expect((await call('w2')).text).toContain("the token 'box' is not for the worker 'w2'");
  expect(http.service.requests).toEqual([]);
  await call('w1');
  expect(http.service.requests).toMatchObject([{ verb: 'probe', id: 'w1' }]);
});

test('only an operator has the MCP tools that pause a worker, and only for its own workers', async () => {
  const { url } = http.server;
  const call = (name: string, method: string, params: object = {}) =>
    ask(url, '/mcp', {
      headers: { authorization: `Bearer secret-of-${name}`, accept: 'application/json, text/event-stream' },
      body: { jsonrpc: '2.0', id: 1, method, params },
    });
  const pause = (name: string, worker: string) =>
    call(name, 'tools/call', { name: 'worker_pause', arguments: { worker, by: 'ann', forMs: 60_000 } });
  expect((await call('robot', 'tools/list')).text).not.toContain('worker_pause');
  expect((await call('alice', 'tools/list')).text).toContain('worker_unpause');
  expect((await pause('robot', 'w1')).text).toContain("there is no tool 'worker_pause'");
  expect((await pause('bob', 'w2')).text).toContain("the token 'bob' is not for the worker 'w2'");
  expect(http.service.requests).toEqual([]);
  await pause('bob', 'w1');
  expect(http.service.requests).toEqual([
    { verb: 'operate', id: 'pause', body: { id: 'w1', by: 'bob (ann)', forMs: 60_000 } },
  ]);
});

test('an added or removed token takes effect at the next request, and so does its session', async () => {
  const { url } = http.server;
  const session = await send('alice', '/api/main/session', { token: 'secret-of-alice' });
  expect(session.status).toBe(204);
  const [cookie = ''] = session.headers['set-cookie'] ?? [];
  expect(cookie).not.toContain('secret');
  const retire = async () =>
    (await ask(url, '/api/main/operator/retire', { headers: { cookie: cookie.split(';')[0] ?? '' }, body: w1 })).status;
  expect(await retire()).toBe(200);
  tokens.splice(0, tokens.length, token('carol', 'operator'));
  expect(await retire()).toBe(401);
  const ended = await ask(url, '/api/main/session', { method: 'DELETE', headers: { cookie } });
  expect([ended.status, ended.headers['set-cookie']]).toEqual([204, [expect.stringContaining('Max-Age=0')]]);
  expect((await send('alice', '/readyz')).status).toBe(401);
  expect((await send('carol', '/readyz')).status).toBe(200);
});

test('the hash in stopgate.yaml does not work as a token', async () => {
  const { url } = http.server;
  const hash = hashOfToken('secret-of-alice');
  const { port } = new URL(url);
  for (const given of [hash, hash.slice('sha256:'.length)]) {
    for (const headers of [{ authorization: `Bearer ${given}` }, { cookie: `stopgate_session_${port}=${given}` }])
      expect((await ask(url, '/readyz', { headers })).status).toBe(401);
  }
});

test("an operator's actions are logged under the token's name", async () => {
  const said = async (by: object) => {
    await send('alice', '/api/main/operator/retire', { id: 'w1', ...by });
    return http.service.requests.at(-1)?.body;
  };
  expect(await said({})).toEqual({ id: 'w1', by: 'alice' });
  expect(await said({ by: 'alice' })).toEqual({ id: 'w1', by: 'alice' });
  expect(await said({ by: 'bob' })).toEqual({ id: 'w1', by: 'alice (bob)' });
});

test('--token stays the token of the operator, in addition to the tokens of the file', async () => {
  const { url } = await http.open({ token: 'the-old-one' });
  const headers = { authorization: 'Bearer the-old-one' };
  expect((await ask(url, '/api/main/operator/retire', { headers, body: w1 })).status).toBe(200);
  expect(http.service.requests.at(-1)?.body).toEqual(w1);
});

test('behind a proxy it answers under its public name, with cookies for https only', async () => {
  const { url } = await http.open({ token: 't', tokens: () => [], publicUrl: 'https://stop.example' });
  const status = async (headers: Record<string, string>) => (await ask(url, '/healthz', { headers })).status;
  expect(await status({ host: 'stop.example', origin: 'https://stop.example' })).toBe(200);
  // A proxy that does not forward the host name.
  expect(await status({ host: '127.0.0.1:4280', origin: 'https://stop.example' })).toBe(200);
  expect(await status({ host: 'evil.example' })).toBe(421);
  expect(await status({ host: 'stop.example', origin: 'https://evil.example' })).toBe(403);
  const sessionAt = async (host: string) => {
    const headers = { host, authorization: 'Bearer t' };
    return (await ask(url, '/api/main/session', { headers, body: { token: 't' } })).headers['set-cookie']?.[0];
  };
  expect(await sessionAt('stop.example')).toContain('; Secure');
  expect(await sessionAt(new URL(url).host)).not.toContain('; Secure');
  await expect(http.open({ tokens: () => [], publicUrl: 'https://stop.example' })).rejects.toMatchObject({
    code: 'config.bad',
  });
});
