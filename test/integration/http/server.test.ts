/** The HTTP edge over a service in memory: who is let in, what each path asks, what an error looks like. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AppError, errorCodes } from '../../../src/errors.ts';
import { type HttpOptions, type HttpServer, openHttpServer } from '../../../src/http/server.ts';
import type { Logger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { createFakeService, type FakeService } from './fake-service.ts';
import { ask } from './request.ts';

let service: FakeService;
let server: HttpServer;
const opened: HttpServer[] = [];
const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };

async function open(more: Partial<HttpOptions> = {}): Promise<HttpServer> {
  const logger = { ...log, child: () => logger } as unknown as Logger;
  const metrics = createMetrics();
  // What the inspector asks is tested against a real replica.
  const inspection = null as unknown as HttpOptions['inspection'];
  const place = { host: '127.0.0.1', port: 0, token: null, operatorToken: null, version: '0.0.0' };
  const it = await openHttpServer({ service, inspection, ...place, metrics, log: logger, ...more });
  opened.push(it);
  return it;
}
function createGate(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}
const errorOf = (answer: { json: unknown }) => (answer.json as { error: { code: string; message: string } }).error;

beforeEach(async () => {
  service = createFakeService();
  server = await open();
});
afterEach(async () => {
  vi.clearAllMocks();
  await Promise.all(opened.splice(0).map((it) => it.close()));
});

describe('who is let in', () => {
  const here = () => new URL(server.url).host;

  test.each(['127.0.0.1', '127.0.0.1:1', 'localhost:8080', 'LOCALHOST', '[::1]:80', '[::1]'])(
    'host %s',
    async (host) => {
      expect((await ask(server.url, '/healthz', { headers: { host } })).status).toBe(200);
    },
  );

  test.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example:80',
    '10.0.0.1',
    '[::2]',
    '127.0.0.1:x',
  ])('not host %j', async (host) => {
    const answer = await ask(server.url, '/healthz', { headers: { host } });
    expect([answer.status, errorOf(answer).code]).toEqual([421, 'MISDIRECTED']);
  });

  test('not a request without a host', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.end('GET /healthz HTTP/1.0\r\n\r\n');
    let text = '';
    for await (const part of socket) text += String(part);
    expect(text).toMatch(/^HTTP\/1\.1 421 /);
  });

  test('a page of this server, but of no other origin', async () => {
    const status = async (origin: string) =>
      (await ask(server.url, '/hooks/claude', { headers: { origin }, body: recorded('PreToolUse') })).status;
    expect(await status(`http://${here()}`)).toBe(204);
    expect(await status('https://evil.example')).toBe(403);
    expect(await status('http://127.0.0.1:1')).toBe(403);
    expect(await status('null')).toBe(403);
    const answer = await ask(server.url, '/hooks/claude', {
      method: 'OPTIONS',
      headers: { origin: 'http://a.example' },
    });
    expect([answer.status, errorOf(answer).code]).toEqual([403, 'FORBIDDEN']);
    expect(service.published).toHaveLength(1);
  });

  test('a token, where one is set, on all but /healthz', async () => {
    const guarded = await open({ token: 'secret-1' });
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
    const answer = await ask(guarded.url, '/hooks/claude', { body: recorded('Stop') });
    expect([answer.status, answer.headers['www-authenticate'], errorOf(answer).code]).toEqual([
      401,
      'Bearer',
      'UNAUTHORIZED',
    ]);
    expect(service.asked).toEqual([]);
  });

  test('no binding beyond loopback without a token', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.org', '127.evil.example']) {
      await expect(open({ host }), host).rejects.toMatchObject({ code: 'config.bad' });
    }
    await expect(open({ token: '' })).rejects.toMatchObject({ code: 'config.bad' });
  });

  test('with a token, every name of a machine that listens on all addresses', async () => {
    const { url } = await open({ host: '0.0.0.0', token: 'secret-1' });
    const local = url.replace('0.0.0.0', '127.0.0.1');
    expect((await ask(local, '/healthz', { headers: { host: 'build-7.example:80' } })).status).toBe(200);
    const named = await open({ host: 'localhost', token: 'secret-1' });
    expect((await ask(named.url, '/healthz', { headers: { host: 'build-7.example:80' } })).status).toBe(421);
  });

  test('a port that is taken is said', async () => {
    const port = Number(new URL(server.url).port);
    await expect(open({ port })).rejects.toMatchObject({
      code: 'config.bad',
      message: expect.stringContaining(`:${port}`),
    });
  });
});

describe('bodies', () => {
  const post = (body: string, headers: Record<string, string | number>) =>
    ask(server.url, '/api/main/decide/w1', { method: 'POST', headers, body });
  const json = { 'content-type': 'application/json' };

  test('are JSON by their content type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'nonsense']) {
      const answer = await post('{}', { 'content-type': type });
      expect([type, answer.status, errorOf(answer).code]).toEqual([type, 415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
    expect((await post('{}', {})).status).toBe(415);
    expect((await post('', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post('{}', { 'content-type': 'application/json; charset=utf-8' })).status).toBe(200);
  });

  test('may be empty, which means {}', async () => {
    expect((await post('', { 'content-length': 0 })).status).toBe(200);
    expect((await post('', json)).status).toBe(200);
    expect(service.asked.map(({ body }) => body)).toEqual([{}, {}]);
  });

  test('are objects', async () => {
    for (const body of ['{', '[]', '1', 'null', '"x"']) {
      const answer = await post(body, json);
      expect([body, answer.status, errorOf(answer).code]).toEqual([body, 400, 'BAD_REQUEST']);
    }
    expect(service.asked).toEqual([]);
  });

  test('have a limit of 16 MiB', async () => {
    expect((await post(JSON.stringify({ output: 'x'.repeat(16 * 1024 * 1024 - 100) }), json)).status).toBe(200);
    const answer = await post('', { ...json, 'content-length': 16 * 1024 * 1024 + 1 });
    expect([answer.status, errorOf(answer).code]).toEqual([413, errorCodes['payload.large'].wire]);
  });

  test('lose keys that would poison an object, and nothing else', async () => {
    expect((await post('{"__proto__":{"a":1},"constructor":{"prototype":{}},"output":"x"}', json)).status).toBe(200);
    expect(service.asked[0]?.body).toEqual({ output: 'x' });
  });
});

describe('hooks', () => {
  const hook = (body: object, url = server.url) => ask(url, '/hooks/claude', { body });
  const { session_id: session } = recorded('Stop') as { session_id: string };
  const known = { worker: session, presence: 'active', agent: 'claude', cwd: null, lastDecision: null, background: [] };

  test('a stop is asked for after its entries, under an id of its own, and a block is said', async () => {
    service.answer = { decision: 'block', action: 'continue', reason: 'the reason', nextPrompt: 'go on' };
    const answer = await hook(recorded('Stop'));
    expect([answer.status, answer.json]).toEqual([200, { decision: 'block', reason: 'go on' }]);
    expect(service.published.map(({ type }) => type)).toEqual(['worker.registered']);
    await hook(recorded('Stop'));
    const bodies = service.asked.map(({ body }) => body as { attempt: string });
    expect(bodies[0]).toEqual({
      attempt: expect.stringMatching(/^[0-9a-f-]{36}$/),
      stopReason: 'end_turn',
      output: 'First attempt to stop.',
    });
    expect(bodies[1]?.attempt).not.toBe(bodies[0]?.attempt);
  });

  test('what is allowed, or asks nothing, gets an empty 204', async () => {
    for (const name of ['Stop', 'PreToolUse', 'SubagentStop.compact']) {
      const answer = await hook(recorded(name));
      expect([name, answer.status, answer.text]).toEqual([name, 204, '']);
    }
  });

  test('what the fleet knows of the worker is used', async () => {
    service.views.set(session, { ...known, awaitsInput: true });
    await hook(recorded('PostToolUse'));
    expect(service.published.map(({ type }) => type)).toEqual(['input.received', 'tool.used']);
  });

  test('calls of one worker are stored in their order, also while the first is slow', async () => {
    service.views.set(session, known);
    const slow = createGate();
    service.pause = slow.promise;
    const first = hook(recorded('PostToolUse'));
    await vi.waitFor(() => expect(service.lookedUp).toBe(1));
    const second = hook(recorded('PostToolUseFailure'));
    slow.resolve();
    await Promise.all([first, second]);
    expect(service.published.map(({ data }) => (data as { ok: boolean }).ok)).toEqual([true, false]);
  });

  test('a stop that is held keeps nobody out', async () => {
    service.views.set(session, known);
    const held = createGate();
    service.pause = held.promise;
    const stop = hook(recorded('Stop'));
    await vi.waitFor(() => expect(service.asked).toHaveLength(1));
    service.pause = Promise.resolve();
    expect((await hook(recorded('UserPromptSubmit'))).status).toBe(204);
    expect(service.published.map(({ type }) => type)).toEqual(['prompt.submitted']);
    held.resolve();
    expect((await stop).status).toBe(204);
  });

  test('a service that is down is 503, and a warning; the next call is tried again', async () => {
    service.fault = new AppError('log.unavailable', 'no NATS');
    for (const name of ['PreToolUse', 'Stop']) {
      const answer = await hook(recorded(name));
      expect([answer.status, errorOf(answer).code]).toEqual([503, 'UNAVAILABLE']);
    }
    expect(log.warn).toHaveBeenCalledTimes(2);
    service.fault = null;
    expect((await hook(recorded('PreToolUse'))).status).toBe(204);
  });

  test('a stop that cannot be decided is 503', async () => {
    service.views.set(session, known);
    service.fault = new AppError('service.busy', 'too many');
    expect((await hook(recorded('Stop'))).status).toBe(503);
  });

  test('the URL names the event where the agent does not', async () => {
    service.answer = { decision: 'block', action: 'continue', reason: 'the reason', nextPrompt: null };
    const body = { sessionId: 's1', stopReason: 'end_turn', stop_hook_active: false };
    const answer = await ask(server.url, '/hooks/copilot?event=agentStop', { body });
    expect([answer.status, answer.json]).toEqual([200, { decision: 'block', reason: 'the reason' }]);
    const nameless = await ask(server.url, '/hooks/copilot', { body });
    expect([nameless.status, errorOf(nameless).message]).toEqual([400, expect.stringContaining('?event=')]);
    expect(service.asked).toHaveLength(1);
  });

  test('10 MB of a tool’s output are read and left behind; over 16 MiB are not', async () => {
    const body = (size: number) => ({ ...recorded('PostToolUse'), tool_response: { stdout: 'x'.repeat(size) } });
    expect((await hook(body(10_000_000))).status).toBe(204);
    expect(JSON.stringify(service.published).length).toBeLessThan(1_000);
    expect((await hook(body(17_000_000))).status).toBe(413);
  });

  test('bytes that are no UTF-8 do not cost the call', async () => {
    const text = JSON.stringify({ ...recorded('Stop'), last_assistant_message: 'BROKEN' });
    const bytes = Buffer.from(text.replace('BROKEN', '\u00ff\u00fe ok'), 'latin1');
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}/hooks/claude`, { method: 'POST', headers, body: bytes });
    expect(answer.status).toBe(204);
    expect(service.asked.at(-1)?.body).toMatchObject({ output: '\ufffd\ufffd ok' });
  });

  test('an agent without an adapter is told which have one', async () => {
    const answer = await ask(server.url, '/hooks/other', { body: {} });
    expect([answer.status, errorOf(answer).message]).toEqual([404, expect.stringContaining('claude')]);
  });

  test('a call that is none is 400', async () => {
    const answer = await hook({ hook_event_name: 'Stop', session_id: 'a b' });
    expect([answer.status, (answer.json as { error: { issues: unknown[] } }).error.issues]).toEqual([
      400,
      [expect.objectContaining({ path: 'session_id' })],
    ]);
  });
});

describe('the API', () => {
  test.each(['decide', 'probe', 'verify'])('%s passes the body on and the decision back', async (verb) => {
    const answer = await ask(server.url, `/api/main/${verb}/w1`, { body: { output: 'x' } });
    expect([answer.status, answer.json]).toMatchObject([200, { worker: 'w1', decision: 'allow' }]);
    expect(service.asked).toEqual([{ verb, id: 'w1', body: { output: 'x' } }]);
  });

  test('verify of what is incomplete is 409 with its decision', async () => {
    const decision = { decision: 'block', reason: 'no' };
    service.fault = new AppError('stop.incomplete', 'the work is not complete', { details: { decision } });
    const answer = await ask(server.url, '/api/main/verify/w1', { method: 'POST', headers: { 'content-length': 0 } });
    expect([answer.status, answer.json]).toEqual([
      409,
      { error: { code: 'INCOMPLETE', message: 'the work is not complete', issues: [] }, decision },
    ]);
  });

  test('get', async () => {
    service.views.set('T-1', { task: 'T-1' });
    expect((await ask(server.url, '/api/main/get/task/T-1')).json).toEqual({ task: 'T-1' });
    expect((await ask(server.url, '/api/main/get/task/T-1', { body: {} })).json).toEqual({ task: 'T-1' });
    expect((await ask(server.url, '/api/main/get/task/T-2')).status).toBe(404);
    expect((await ask(server.url, '/api/main/get/thing/T-1')).status).toBe(404);
  });

  test('list, by query or body', async () => {
    const answer = await ask(server.url, '/api/main/list/workers?state=working&limit=5');
    expect([answer.status, answer.json]).toEqual([200, { items: [], next: null }]);
    await ask(server.url, '/api/main/list/tasks', { body: { queue: 'main' } });
    await ask(server.url, '/api/main/list/queues?limit=many');
    expect(service.asked).toEqual([
      { verb: 'list', id: 'worker', body: { state: 'working', limit: 5 } },
      { verb: 'list', id: 'task', body: { queue: 'main' } },
      { verb: 'list', id: 'queue', body: { limit: 'many' } },
    ]);
    expect((await ask(server.url, '/api/main/list/worker')).status).toBe(404);
  });

  test('publish', async () => {
    const path = '/api/main/publish/worker/w1/tool/used';
    const answer = await ask(server.url, path, { body: { tool: 'Bash' }, headers: { 'nats-msg-id': 'm1' } });
    expect([answer.status, answer.json]).toEqual([200, { seq: 1 }]);
    expect(service.published).toEqual([
      { entity: 'worker', id: 'w1', type: 'tool.used', data: { tool: 'Bash' }, messageId: 'm1' },
    ]);
  });

  test('of another fleet is not found', async () => {
    const answer = await ask(server.url, '/api/other/decide/w1', { body: {} });
    expect([answer.status, errorOf(answer).message]).toEqual([404, expect.stringContaining("'main'")]);
    expect((await ask(server.url, '/api/other/list/workers')).status).toBe(404);
    expect(service.asked).toEqual([]);
  });

  test.each([`${'w'.repeat(129)}`, 'a.b', '%2a', '_w'])('a bad id %s is 400', async (id) => {
    for (const path of [`/api/main/decide/${id}`, `/api/main/publish/worker/${id}/tool/used`]) {
      expect((await ask(server.url, path, { body: {} })).status).toBe(400);
    }
    expect((await ask(server.url, `/api/main/get/worker/${id}`)).status).toBe(400);
  });

  test('a client that leaves does not end its decision', async () => {
    const held = createGate();
    const { pause } = service;
    service.pause = held.promise;
    const leaving = new AbortController();
    const gone = fetch(`${server.url}/api/main/decide/w1`, { method: 'POST', signal: leaving.signal });
    await vi.waitFor(() => expect(service.asked).toHaveLength(1));
    leaving.abort();
    await expect(gone).rejects.toThrow();
    held.resolve();
    service.pause = pause;
    expect((await ask(server.url, '/healthz')).status).toBe(200);
    expect(log.error).not.toHaveBeenCalled();
  });
});

describe('what operators look at', () => {
  test('health and readiness', async () => {
    expect((await ask(server.url, '/healthz')).json).toEqual({ ok: true });
    expect((await ask(server.url, '/readyz')).json).toEqual({ ok: true });
    service.state = { ...service.state, ready: false, reason: 'the log is gone' };
    const answer = await ask(server.url, '/readyz');
    expect([answer.status, errorOf(answer)]).toMatchObject([503, { message: 'the log is gone' }]);
    expect((await ask(server.url, '/healthz')).status).toBe(200);
    expect(log.warn).not.toHaveBeenCalled();
  });

  test('metrics', async () => {
    await ask(server.url, '/api/main/decide/w1', { body: {} });
    await ask(server.url, '/nothing');
    const answer = await ask(server.url, '/metrics');
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    for (const line of [
      'stopgate_fold_seq 42',
      'stopgate_open_attempts 3',
      'stopgate_requests_total{verb="decide",status="200"} 1',
      'stopgate_http_requests_total{method="POST",route="/api/:fleet/decide/:worker",status="200"} 1',
      'stopgate_http_requests_total{method="GET",route="none",status="404"} 1',
    ]) {
      expect(answer.text).toContain(`${line}\n`);
    }
    expect(answer.text).toMatch(/^stopgate_process_cpu_seconds_total /m);
  });

  test('the inspector, and the endpoints to who asks for plain text', async () => {
    const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const page = await ask(server.url, '/', { headers: html });
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers['content-security-policy']).toBe(
      "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    );
    expect((await ask(server.url, '/', { headers: { accept: '*/*' } })).text).toBe(page.text);
    expect((await ask(server.url, '/', { headers: { accept: 'text/plain' } })).text).toMatch(/^stopgate\n/);
    const again = await ask(server.url, '/', { headers: { ...html, 'if-none-match': page.headers.etag ?? '' } });
    expect([again.status, again.text]).toEqual([304, '']);
    const [, script = ''] = /src="([^"]+)"/.exec(page.text) ?? [];
    const file = await ask(server.url, script, { headers: { 'accept-encoding': 'gzip' } });
    expect(file.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'text/javascript; charset=utf-8',
    });
    expect(file.headers['cache-control']).toContain('immutable');
    expect((await ask(server.url, '/favicon.ico')).headers['content-type']).toBe('image/svg+xml');
    for (const path of ['/assets/..%2f..%2fpackage.json', '/assets/none.js']) {
      expect((await ask(server.url, path)).status, path).toBe(404);
    }
    expect((await ask(server.url, '/', { headers: { ...html, host: 'evil.example' } })).status).toBe(421);
  });

  test('the page without a token, since it holds no data, and nothing else', async () => {
    const { url } = await open({ token: 'secret-1' });
    const html = { accept: 'text/html' };
    expect((await ask(url, '/', { headers: html })).status).toBe(200);
    expect((await ask(url, '/favicon.ico')).status).toBe(200);
    for (const path of ['/', '/api', '/api/main/range', '/api/main/stream']) {
      expect((await ask(url, path)).status, path).toBe(401);
    }
    expect((await ask(url, '/api', { headers: html })).status).toBe(401);
  });

  test('the endpoints, as text', async () => {
    const answer = await ask(server.url, '/api');
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(answer.text).toContain('POST /hooks/claude\n');
    expect(answer.text).toContain('POST /api/main/decide/<worker>\n');
  });
});

describe('every reply', () => {
  test.each([
    ['/healthz', 200],
    ['/nothing?token=x', 404],
    ['/%zz', 400],
    ['/hooks/claude', 404],
  ])('%s', async (path, status) => {
    const answer = await ask(server.url, path);
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    expect(answer.headers).not.toHaveProperty('server');
    expect(answer.headers).not.toHaveProperty('x-powered-by');
    expect(answer.text).not.toContain('token');
    if (status !== 200)
      expect(answer.json).toEqual({ error: { code: expect.any(String), message: expect.any(String), issues: [] } });
  });

  test('a bug of ours is 500, and only the log says what it was', async () => {
    service.fault = new TypeError('cannot read secrets of undefined');
    const answer = await ask(server.url, '/api/main/decide/w1', { body: {} });
    expect([answer.status, errorOf(answer).code]).toEqual([500, 'INTERNAL']);
    expect(answer.text).not.toContain('secrets');
    expect(log.error).toHaveBeenCalledOnce();
  });
});

describe('closing', () => {
  test('lets a running request finish, also on a connection kept alive, and listens no longer', async () => {
    const held = createGate();
    service.pause = held.promise;
    const patient = await open({ closeTimeoutMs: 20_000 });
    const running = fetch(`${patient.url}/api/main/decide/w1`, { method: 'POST' });
    await vi.waitFor(() => expect(service.asked).toHaveLength(1));
    const closed = patient.close();
    await expect(ask(patient.url, '/healthz')).rejects.toMatchObject({ code: expect.stringMatching(/^ECONN/) });
    held.resolve();
    expect((await running).status).toBe(200);
    await closed;
  });

  test('does not wait for a connection on which nothing was asked', async () => {
    const patient = await open({ closeTimeoutMs: 20_000 });
    const socket = connect(Number(new URL(patient.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.resume();
    await Promise.all([once(socket, 'close'), patient.close()]);
  });

  test('cuts what takes too long', async () => {
    const held = createGate();
    service.pause = held.promise;
    const hasty = await open({ closeTimeoutMs: 20 });
    const cut = expect(ask(hasty.url, '/api/main/decide/w1', { body: {} })).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
    await vi.waitFor(() => expect(service.asked).toHaveLength(1));
    await hasty.close();
    await cut;
    held.resolve();
  });

  test('twice is once', async () => {
    await Promise.all([server.close(), server.close()]);
  });
});
