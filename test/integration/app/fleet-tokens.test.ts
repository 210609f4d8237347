/** Tokens limited to `fleets`, in a service of several: every endpoint refuses other fleets, however they are named. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { hashOfToken } from '../../../src/config/access-tokens.ts';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy, makeFolder } from '../../support/deployment.ts';
import { readRoutes } from '../../support/http-routes.ts';
import { ask } from '../http/request.ts';

const routes = await readRoutes();
const secretOf = (name: string) => `secret-of-${name}`;
const line = (name: string, rest: string) => `  ${name}: { ${rest}, hash: "${hashOfToken(secretOf(name))}" }\n`;
const bound = line('box', 'role: agent, workers: [w1], fleets: [main]');
const tokens = (...lines: string[]) => `fleets: [main, web]\ntokens:\n${lines.join('')}`;

describe('a service of several fleets', () => {
  let at: Deployment;
  beforeAll(async () => {
    at = await deploy({
      config: tokens(
        bound,
        line('boss', 'role: operator, fleets: [main]'),
        line('wide', 'role: agent, fleets: ["w*"]'),
        line('all', 'role: read'),
      ),
    });
    await started('boss', '?fleet=main');
  });
  afterAll(() => at.close());
  const auth = (name: string) => ({ authorization: `Bearer ${secretOf(name)}` });
  const send = (name: string, path: string, { method = 'GET', body }: { method?: string; body?: object } = {}) =>
    ask(at.http, path, { method, headers: auth(name), ...(body === undefined ? {} : { body }) });
  const call = { hook_event_name: 'UserPromptSubmit', session_id: 'w1', prompt: 'go' };
  const started = (name: string, query = '') =>
    send(name, `/hooks/claude${query}`, { method: 'POST', body: call }).then(({ status }) => status);

  const values = { entity: 'worker', id: 'w1', worker: 'w1', task: 'T-1', noun: 'tool', verb: 'used', agent: 'claude' };
  const others = { file: 'w1.jsonl', entities: 'workers', seq: '1', word: 'retire' };
  const pathOf = (url: string) =>
    url.replaceAll(/:(\w+)/g, (_, name: string) => ({ ...values, ...others, fleet: 'web' })[name] ?? '');
  const closed = routes
    .filter(({ access }) => access.fleets === 'own')
    .map(({ method, url }) => `${method} ${url}`)
    .filter((endpoint) => !['GET /api', 'GET /inspect/ws', 'GET /mcp', 'DELETE /mcp'].includes(endpoint));

  test.each(closed)('%s of another fleet is refused, also for an operator', async (endpoint) => {
    const [method = '', url = ''] = endpoint.split(' ');
    const path = pathOf(url);
    const query = url.startsWith('/api/') ? '' : '?fleet=web&worker=w1';
    for (const name of ['box', 'boss']) {
      const answer = await send(name, path + query, { method, ...(method === 'POST' && { body: call }) });
      expect([answer.status, answer.text]).toEqual([403, expect.stringMatching(/token '\w+'/)]);
    }
  });

  test('an unknown fleet is refused in the same way, and the own fleet is open', async () => {
    expect((await send('boss', '/api/none/list/workers')).status).toBe(403);
    expect((await send('boss', '/api/main/list/workers')).status).toBe(200);
    expect((await send('box', '/api/main/get/worker/w1')).status).toBe(200);
    expect((await send('wide', '/api/web/list/workers')).status).toBe(200);
    expect((await send('all', '/api/web/list/workers')).status).toBe(200);
  });

  test('lists of fleets contain only its own, and metrics of all fleets are refused', async () => {
    const api = async (name: string) =>
      (await ask(at.http, '/api', { headers: { ...auth(name), accept: 'application/json' } })).json;
    expect(await api('boss')).toMatchObject({ fleet: 'main', fleets: ['main'] });
    expect(await api('wide')).toMatchObject({ fleet: 'web', fleets: ['web'] });
    expect(await api('all')).toMatchObject({ fleet: 'main', fleets: ['main', 'web'] });
    expect(Object.keys(((await send('boss', '/readyz')).json as { fleets: object }).fleets)).toEqual(['main']);
    expect((await send('boss', '/metrics')).status).toBe(403);
    expect((await send('all', '/metrics')).status).toBe(200);
  });

  test('a hook that names no fleet goes to the only fleet of its token', async () => {
    expect(await started('wide')).toBeLessThan(300);
    expect((await send('wide', '/api/web/get/worker/w1')).status).toBe(200);
  });

  test('it gets neither an inspector socket nor a session of another fleet', async () => {
    const opened = (query: string) =>
      new Promise<boolean>((done) => {
        const url = `${at.http.replace('http', 'ws')}/inspect/ws${query}`;
        const socket = new WebSocket(url, { headers: auth('boss') });
        socket.once('open', () => done(true)).once('error', () => done(false));
        onTestFinished(() => socket.terminate());
      });
    expect([await opened('?fleet=web'), await opened('?fleet=main'), await opened('')]).toEqual([false, true, true]);
    const session = await send('all', '/api/web/session', { method: 'POST', body: { token: secretOf('boss') } });
    expect(session.status).toBe(403);
  });

  test('a stream ends when its token loses the fleet', async () => {
    const stream = await fetch(`${at.http}/api/web/stream`, { headers: auth('all') });
    await at.folder.write('stopgate.yaml', tokens(bound, line('all', 'role: read, fleets: [main]')));
    expect(await stream.text()).toContain('event: locked');
    const unbound = tokens(bound, line('lax', 'role: agent, workers: [w1]'));
    await at.folder.write('stopgate.yaml', unbound);
    await expect
      .poll(() => at.log().map(({ problems }) => problems))
      .toContainEqual([expect.stringContaining('token "lax" has workers but no fleets')]);
  });
});

test('a token with workers but without fleets prevents the start of a service with several fleets', async () => {
  const folder = await makeFolder({ 'stopgate.yaml': tokens(bound, line('lax', 'role: agent, workers: [w1]')) });
  onTestFinished(() => folder.remove());
  const message =
    'stopgate.yaml:4:8: token "lax" has workers but no fleets, and this service has several fleets: add fleets: ["main"], or fleets: ["*"] for these workers of every fleet';
  const ended = await runCommand(['serve', '--nats', 'nats://127.0.0.1:1'], { cwd: folder.path });
  expect(ended).toMatchObject({ code: 2, stderr: `stopgate: ${message}\n` });
  const checked = await runCommand(['check'], { cwd: folder.path });
  expect([checked.code, checked.stderr]).toEqual([2, expect.stringContaining('token "lax" has workers')]);
});
