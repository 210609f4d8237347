/** The shipped service over HTTP: health, readiness, metrics and requests, compared with NATS. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { ask } from '../http/request.ts';

const config = 'policies: { default: { checks: [{ plan: {} }] }, lost: { checks: [{ remote: nobody }] } }\n';
const planned = { steps: [{ title: 'Write tests', status: 'pending' }] };

describe('the API', () => {
  let at: Deployment;
  beforeAll(async () => {
    at = await deploy({ config, args: ['--replica', 'r1'] });
  });
  afterAll(() => at.close());

  const post = (path: string, body: object | string = {}, headers: Record<string, string> = {}) =>
    ask(at.http, path, { method: 'POST', body, headers });

  /** The value of one metric; 0 if it was never counted. */
  const metric = async (name: string, labels: Record<string, string> = {}): Promise<number> => {
    const { text } = await ask(at.http, '/metrics');
    const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
    const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    const line = lines.find((it) => wanted.every((label) => it.includes(label)));
    return Number(line?.split(' ').at(-1) ?? 0);
  };

  test('is alive and ready, and lists its endpoints', async () => {
    expect(await ask(at.http, '/healthz')).toMatchObject({ status: 200, json: { ok: true } });
    expect(await ask(at.http, '/readyz')).toMatchObject({ status: 200, json: { ok: true } });
    expect((await ask(at.http, '/api')).text).toContain('POST /api/main/decide/<worker>');
  });

  test('decides, and gives the same decision over NATS and HTTP', async () => {
    expect(await post('/api/main/publish/worker/w1/plan/updated', planned)).toMatchObject({
      status: 200,
      json: { seq: expect.any(Number) },
    });
    const decided = await post('/api/main/decide/w1', { attempt: 'a1' });
    expect(decided).toMatchObject({
      status: 200,
      json: { worker: 'w1', attempt: 'a1', decision: 'block', replica: 'r1' },
    });
    expect(decided.headers['cache-control']).toBe('no-store');
    expect((await at.client.ask('decide.w1', { attempt: 'a1' })).body).toEqual(decided.json);
    expect((await post('/api/main/decide/w1', { attempt: 'a1' })).json).toEqual(decided.json);
  });

  test('an empty body is an attempt like any other', async () => {
    expect(await post('/api/main/decide/w2', '', { 'content-type': 'application/json' })).toMatchObject({
      status: 200,
      json: { decision: 'allow', attempt: expect.stringMatching(/^seq-\d+$/) },
    });
  });

  test('probes, verifies, gets and lists', async () => {
    await at.client.publish('worker.w3.plan.updated', planned);
    expect(await post('/api/main/probe/w3')).toMatchObject({
      status: 200,
      json: { decision: 'block', dryRun: true, seq: null },
    });
    expect(await post('/api/main/verify/w3')).toMatchObject({
      status: 409,
      json: { error: { code: 'INCOMPLETE' }, decision: { decision: 'block' } },
    });
    expect(await ask(at.http, '/api/main/get/worker/w3')).toMatchObject({
      status: 200,
      json: { worker: 'w3', plan: [{ title: 'Write tests' }] },
    });
    await post('/api/main/decide/w3');
    const listed = await ask(at.http, '/api/main/list/workers?state=blocked&limit=1&after=w2');
    expect(listed).toMatchObject({ status: 200, json: { items: [{ worker: 'w3' }] } });
  });

  test.each([
    ['not JSON', '/api/main/decide/w9', '{', 400, 'BAD_REQUEST'],
    ['no object', '/api/main/decide/w9', '[]', 400, 'BAD_REQUEST'],
    ['wrong types', '/api/main/decide/w9', '{"attempt":7}', 400, 'BAD_REQUEST'],
    ['a bad id', '/api/main/decide/a.b', '{}', 400, 'BAD_REQUEST'],
    ['over 64 KiB', '/api/main/decide/w9', JSON.stringify({ output: 'x'.repeat(70_000) }), 400, 'TOO_LARGE'],
    ['another fleet', '/api/other/decide/w9', '{}', 404, 'NOT_FOUND'],
    ['an unknown verb', '/api/main/destroy/w9', '{}', 404, 'NOT_FOUND'],
    ['an own entry', '/api/main/publish/own/w9/worker/retired', '{"by":"me"}', 404, 'NOT_FOUND'],
    ['an unknown type', '/api/main/publish/worker/w9/worker/promoted', '{}', 400, 'BAD_REQUEST'],
    ['a bad entry', '/api/main/publish/worker/w9/tool/used', '{"tool":7}', 400, 'BAD_REQUEST'],
  ])('%s is refused, and nothing is logged', async (_what, path, body, status, code) => {
    const seq = async () =>
      (await at.client.manager.streams.info('STOPGATE_main', { subjects_filter: 'stopgate.main.worker.w9.>' })).state
        .subjects;
    const refused = await post(path, body, { 'content-type': 'application/json' });
    expect(refused).toMatchObject({ status, json: { error: { code, message: expect.any(String) } } });
    expect(await seq()).toBeUndefined();
  });

  test('the metrics count what happens', async () => {
    const counts = () =>
      Promise.all([
        metric('stopgate_decisions_total', { decision: 'block', cause: 'incomplete' }),
        metric('stopgate_requests_total', { verb: 'decide', status: '200' }),
        metric('stopgate_requests_total', { verb: 'get', status: '404' }),
        metric('stopgate_decision_seconds_count'),
        metric('stopgate_dead_letters_total', { code: 'NOT_JSON' }),
        metric('stopgate_refused_total'),
        metric('stopgate_http_requests_total', { method: 'POST', route: '/hooks/:agent' }),
      ]);
    const before = await counts();
    const folded = await metric('stopgate_entries_folded_total');
    const seq = await metric('stopgate_fold_seq');
    await at.client.publish('worker.m1.plan.updated', planned);
    await at.client.ask('decide.m1');
    await at.client.ask('get.worker.nobody');
    await at.client.publish('worker.m1.tool.used', '{');
    await at.client.publish('worker.m1.task.completed', { task: 'T-unknown' });
    await post('/hooks/claude', { session_id: 'm2', hook_event_name: 'Notification' });
    await at.client.ask('get.worker.m1'); // everything above is folded
    expect(await counts()).toEqual(before.map((count) => count + 1));
    expect((await metric('stopgate_entries_folded_total')) - folded).toBeGreaterThanOrEqual(5);
    expect(await metric('stopgate_fold_seq')).toBeGreaterThan(seq);
    expect(await metric('stopgate_open_attempts')).toBe(0);
  });

  test('a stop that could not be judged is counted under a separate cause', async () => {
    const counts = () =>
      Promise.all(
        ['unjudged', 'complete'].map((cause) => metric('stopgate_decisions_total', { decision: 'allow', cause })),
      );
    const [unjudged = 0, complete] = await counts();
    await at.client.publish('worker.m3.worker.registered', { policy: 'lost' });
    expect((await at.client.ask('decide.m3')).body).toMatchObject({ decision: 'allow', cause: 'unjudged' });
    expect(await counts()).toEqual([unjudged + 1, complete]);
  });
});

test('a service whose log is lost is alive but not ready: every request gets a 503 at once, until a restart accepts the loss', async () => {
  const at = await deploy({ config });
  onTestFinished(() => at.close());
  expect((await ask(at.http, '/readyz')).status).toBe(200);
  await at.client.ask('decide.w1');
  await at.client.manager.streams.delete('STOPGATE_main');
  // There were no other requests.
  await expect
    .poll(() => ask(at.http, '/readyz'))
    .toMatchObject({ status: 503, json: { error: { code: 'LOG_LOST' } } });
  const lost = {
    status: 503,
    json: { error: { code: 'LOG_LOST', message: expect.stringContaining('--accept-empty-log') } },
  };
  expect(await ask(at.http, '/api/main/decide/w1', { body: {} })).toMatchObject(lost);
  expect(await ask(at.http, '/api/main/get/worker/w1')).toMatchObject(lost);
  expect(await ask(at.http, '/hooks/claude', { body: { session_id: 's1', hook_event_name: 'Stop' } })).toMatchObject(
    lost,
  );
  expect((await ask(at.http, '/healthz')).status).toBe(200);
  expect(at.log().filter(({ level }) => level === 'error')).toMatchObject([{ err: { code: 'log.lost' } }]);

  const again = await runCommand(['serve', '--nats', at.server.url, '--http', 'off'], { cwd: at.folder.path });
  expect(again).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('--accept-empty-log') });
});

test('without a token it listens on loopback only', async () => {
  const { code, stdout, stderr } = await runCommand(['serve', '--http', '0.0.0.0:0'], { cwd: '/' });
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(/needs a token/) });
});
