/** One `stopgate serve` for several fleets: every edge, by fleet, and one failing fleet among others. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, openClient } from '../../support/client.ts';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { ask } from '../http/request.ts';

const planned = { steps: [{ title: 'Write tests', status: 'pending' }] };
const config = 'policies: { default: { checks: [{ plan: {} }] } }\n';

describe('several fleets', () => {
  let at: Deployment;
  let web: Client;
  beforeAll(async () => {
    at = await deploy({ config, args: ['--fleet', 'main', '--fleet', 'web', '--fleets', 'team-*', '--replica', 'r1'] });
    web = await openClient(at.server.url, 'web');
  });
  afterAll(async () => {
    await web.close();
    await at.close();
  });
  const post = (path: string, body: object = {}) => ask(at.http, path, { body });
  const fleetOf = async (worker: string) => {
    const found = await Promise.all(
      ['main', 'web'].map(async (fleet) => (await ask(at.http, `/api/${fleet}/get/worker/${worker}`)).status === 200),
    );
    return ['main', 'web'].filter((_, index) => found[index]);
  };

  test('the ready line names the first, and all of them', () => {
    expect(at.service.ready).toEqual({
      ready: true,
      nats: at.server.url,
      http: at.http,
      fleet: 'main',
      fleets: ['main', 'web'],
    });
  });

  test('each decides for itself, over NATS and the API, under the same policies', async () => {
    await web.publish('worker.w1.plan.updated', planned);
    expect((await web.ask('decide.w1')).body).toMatchObject({ fleet: 'web', decision: 'block', replica: 'r1' });
    expect((await at.client.ask('decide.w1')).body).toMatchObject({ fleet: 'main', decision: 'allow' });
    expect((await post('/api/web/decide/w1')).json).toMatchObject({ fleet: 'web', decision: 'block' });
    expect((await post('/api/none/decide/w1')).json).toMatchObject({
      error: { code: 'NOT_FOUND', message: "no fleet 'none' here; this service serves 'main', 'web'" },
    });
  });

  test('hooks and MCP may name a fleet; the first is the default', async () => {
    const hook = (session: string, query = '') =>
      post(`/hooks/claude${query}`, { hook_event_name: 'UserPromptSubmit', session_id: session, prompt: 'go' });
    await hook('h1');
    await hook('h2', '?fleet=web');
    expect([await fleetOf('h1'), await fleetOf('h2')]).toEqual([['main'], ['web']]);
    expect((await hook('h3', '?fleet=none')).status).toBe(404);

    const stdin = JSON.stringify({ hook_event_name: 'UserPromptSubmit', session_id: 'h4', prompt: 'go' });
    await runCommand(['hook', 'claude', '--http', at.http, '--fleet', 'web'], { cwd: at.folder.path, stdin });
    expect(await fleetOf('h4')).toEqual(['web']);

    const headers = { accept: 'application/json, text/event-stream' };
    const call = (query: string, worker: string) =>
      ask(at.http, `/mcp${query}`, {
        headers,
        body: {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'task_create', arguments: { taskId: worker, title: 'x' } },
        },
      });
    await call('?fleet=web', 't1');
    expect((await call('?fleet=none', 't1')).status).toBe(404);
  });

  test('readiness and metrics are by fleet', async () => {
    expect((await ask(at.http, '/readyz?fleet=web')).json).toEqual({
      ok: true,
      fleets: { web: { foldedSeq: expect.any(Number), lag: 0 } },
    });
    expect((await ask(at.http, '/readyz?fleet=none')).status).toBe(404);
    const { text } = await ask(at.http, '/metrics');
    expect(text).toContain('stopgate_ready{fleet="main"} 1');
    expect(text).toContain('stopgate_ready{fleet="web"} 1');
    expect(text).toMatch(/^stopgate_decisions_total\{fleet="web",decision="block",cause="incomplete"\} 2$/m);
    expect(text).toContain('stopgate_requests_total{fleet="none",verb="decide",status="404"} 1');
  });

  test('NATS shows one service, with the endpoints of all fleets', async () => {
    const info = (await at.client.nc.request('$SRV.INFO.stopgate.r1')).json<{ endpoints: { subject: string }[] }>();
    const subjects = info.endpoints.map(({ subject }) => subject);
    expect(subjects).toEqual(expect.arrayContaining(['stopgate.main.decide.>', 'stopgate.web.decide.>']));
  });

  test('a fleet that gets a log is served from then on', async () => {
    const other = await deployBeside(at, ['--fleet', 'team-new', '--replica', 'r2']);
    await other.close();
    const team = await openClient(at.server.url, 'team-new');
    await expect.poll(() => team.ask('decide.w1').then(({ body }) => body.replica)).toBe('r1');
    await team.close();
    expect((await ask(at.http, '/api', { headers: { accept: 'application/json' } })).json).toMatchObject({
      fleet: 'main',
      fleets: ['main', 'team-new', 'web'],
    });
  });

  test('a lost log only affects its fleet', async () => {
    await at.client.manager.streams.delete('STOPGATE_web');
    await expect.poll(async () => (await web.ask('decide.w9')).body.error?.code).toBe('LOG_LOST');
    expect((await at.client.ask('decide.w9')).body).toMatchObject({ decision: 'allow' });
    expect(await ask(at.http, '/readyz')).toMatchObject({
      status: 200,
      json: { ok: true, failed: { web: { code: 'LOG_LOST' } } },
    });
    expect(await ask(at.http, '/readyz?fleet=web')).toMatchObject({
      status: 503,
      json: { error: { code: 'LOG_LOST' } },
    });
    expect((await ask(at.http, '/readyz?fleet=main')).status).toBe(200);
    expect((await ask(at.http, '/metrics')).text).toContain('stopgate_ready{fleet="web"} 0');
  });
});

/** One more service on the same NATS server. */
const deployBeside = async ({ server, folder }: Deployment, args: readonly string[]) => {
  const { startService, endService } = await import('../../support/service.ts');
  const service = await startService(['serve', '--nats', server.url, '--http', 'off', ...args], folder.path);
  return { service, close: () => endService(service) };
};

describe('fleets in stopgate.yaml', () => {
  test('an added fleet is served without a restart, a removed one is closed', async () => {
    const at = await deploy({ config: 'fleets: [a, b]\n' });
    const [b, c] = await Promise.all([openClient(at.server.url, 'b'), openClient(at.server.url, 'c')]);
    try {
      expect(at.service.ready).toMatchObject({ fleet: 'a', fleets: ['a', 'b'] });
      expect((await b.ask('decide.w1')).code).toBe('');
      await at.folder.write('stopgate.yaml', 'fleets: [a, c]\n');
      await expect
        .poll(() =>
          c.ask('decide.w1').then(
            ({ code }) => code,
            () => 'none',
          ),
        )
        .toBe('');
      await expect(b.ask('decide.w1')).rejects.toThrow(/no responders/);
    } finally {
      await b.close();
      await c.close();
      await at.close();
    }
  });

  test('commands in that folder use the first', async () => {
    const at = await deploy({ config: 'fleets: [a, b]\n' });
    const answer = await runCommand(['decide', 'w1', '--json', '--nats', at.server.url], { cwd: at.folder.path });
    await at.close();
    expect(JSON.parse(answer.stdout)).toMatchObject({ fleet: 'a' });
  });
});

describe('patterns alone', () => {
  test('nothing is served before there is a log, and a hook must name its fleet', async () => {
    const at = await deploy({ args: ['--fleets', 'team-*'] });
    try {
      expect(at.service.ready).toMatchObject({ fleet: null, fleets: [] });
      expect((await ask(at.http, '/readyz')).status).toBe(200);
      const hook = await ask(at.http, '/hooks/claude', { body: { hook_event_name: 'Stop', session_id: 's1' } });
      expect(hook).toMatchObject({ status: 400, json: { error: { message: expect.stringContaining('?fleet=F') } } });
    } finally {
      await at.close();
    }
  });
});

test.each([
  [['--fleets', 'a.b'], '--fleets: "a.b" is not a list of fleets or patterns, such as a,b,team-* (1000 at most)'],
  [['--shard', '9/8'], '--shard: "9/8" is not K/N with K from 1 to N, such as 2/8'],
  [
    ['--embedded', '--port', '0', '--fleet', 'a', '--fleet', 'b'],
    'the NATS server that stopgate starts serves only one fleet',
  ],
])('serve %j is refused', async (args, message) => {
  const { code, stderr } = await runCommand(['serve', '--http', 'off', ...args], { cwd: '/tmp' });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
});
