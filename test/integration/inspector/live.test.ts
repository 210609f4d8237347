/** The inspector's stream: everything at once, then what changed, and one actor in full. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Packed, queueRows, taskRows, type WorkerRow, workerRows } from '../../../src/inspector/rows.ts';
import { openStage, operatorToken, type Stage } from '../../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  const policies = {
    default: { checks: [{ plan: {} }] },
    waiting: { checks: [{ remote: 'ci' }] },
    bounded: { budget: { usd: 1 }, onBudget: 'escalate' },
  };
  stage = await openStage({ policies: { policies } });
});
afterAll(async () => stage.close());

const rowOf = ({ workers = [] }: Partial<Packed>, worker: string) =>
  workers.map(workerRows.unpack).find(({ id }) => id === worker);
const has = (worker: string, state?: WorkerRow['state']) => (change: Partial<Packed>) => {
  const row = rowOf(change, worker);
  return row !== undefined && (state === undefined || row.state === state);
};

test('starts with the replica, then a row for every actor', async () => {
  await stage.client.publish('worker.f1.tool.used', { tool: 'Bash' });
  await stage.client.publish('task.F-1.task.created', { title: 'Write tests' });
  await stage.get('get/worker/f1');
  const stream = await stage.stream();
  const full = await stream.until('full');
  expect(stream.events[0]).toMatchObject({
    event: 'hello',
    data: { fleet: 'main', replica: 'r1', session: false, operator: false, token: true },
  });
  expect(rowOf(full.data, 'f1')).toMatchObject({ state: 'working', presence: 'active', retryCount: 0, retryMax: 3 });
  expect(full.data.tasks.map(taskRows.unpack)).toContainEqual({
    id: 'F-1',
    state: 'idle',
    worker: null,
    queue: 'main',
    title: 'Write tests',
    outcome: null,
    iteration: null,
    maxIterations: null,
    hooks: 0,
    sentence: 'Waits for a worker of queue main',
    stateSinceMs: null,
    escalatedWith: null,
    priority: 0,
    createdSeq: expect.any(Number),
    heldSinceMs: null,
    escalatedSinceMs: null,
    isAcknowledged: false,
    matter: null,
    usd: 0,
    tokens: 0,
    sinceMs: expect.any(Number),
  });
  expect(full.data.queues.map(queueRows.unpack)).toContainEqual({
    id: 'main',
    pending: 1,
    reported: 0,
    workers: 1,
    unattendedMs: null,
    acknowledgedBy: null,
  });
  expect(full.id).toBe(String(full.data.seq));
});

test('then sends what changed, with the transitions taken', async () => {
  const stream = await stage.stream();
  await stream.until('full');
  await stage.client.publish('worker.d1.plan.updated', { steps: [{ title: 'Fix lint', status: 'pending' }] });
  await stage.client.ask('decide.d1');
  const delta = await stream.until('delta', has('d1', 'blocked'));
  expect(rowOf(delta.data, 'd1')).toMatchObject({ state: 'blocked', presence: 'active', retryCount: 1, retryMax: 3 });
  const transitions = stream.all('delta').flatMap((delta) => delta.transitions ?? []);
  expect(transitions).toContainEqual({
    machine: 'worker',
    from: 'working',
    to: 'blocked',
    event: 'stop.attempted',
    count: 1,
  });
});

// Root cause: a recursion over its JSON, in the tick that sends to the pages, crashed the service.
test('deeply nested JSON is shown as refused, and the service survives', async () => {
  const stream = await stage.stream('stream?worker=deep');
  const subject = 'worker.deep.tool.used';
  await stage.client.publish(subject, { tool: 'Bash' });
  await stage.client.publish(subject, `{"tool":${'['.repeat(8_000)}${']'.repeat(8_000)}}`);
  const refused = { text: 'refused, nothing changed: objects and arrays may nest 100 deep' };
  const news = await stream.until('worker', ({ entries }) => entries.length > 0 && entries.at(-1)?.text !== 'Bash');
  expect(news.data.entries.at(-1)).toMatchObject(refused);
  expect((await stage.get('timeline/worker/deep')).body.entries.at(-1)).toMatchObject(refused);
  expect((await stage.client.ask('decide.deep')).body).toMatchObject({ decision: 'allow' });
});

test('sends the selected worker when its check replies `pending`', async () => {
  const stream = await stage.stream('stream?worker=ci');
  const served = stage.client.nc.subscribe('stopgate.main.check.ci', {
    callback: (_error, message) =>
      void message.respond('{ "pending": true, "reason": "build 7 runs", "retryAfterMs": 600000 }'),
  });
  await stage.client.publish('worker.ci.worker.registered', { policy: 'waiting' });
  await stage.client.publish('worker.ci.stop.attempted', { attempt: 'a1' });
  const news = await stream.until(
    'worker',
    ({ view }) => view !== null && JSON.stringify(view).includes('build 7 runs'),
  );
  expect(news.data.view).toMatchObject({
    state: 'validating',
    attempt: { waitsFor: 'check ci', pending: { check: 'ci', reason: 'build 7 runs' } },
  });
  served.unsubscribe();
  await stage.client.publish('worker.ci.session.ended');
});

test('sends the selected worker in full, with its entries', async () => {
  const stream = await stage.stream('stream?worker=s1');
  await stage.client.publish('worker.s1.tool.used', { tool: 'Bash', ok: true });
  await stage.client.ask('decide.s1');
  const entries = () => stream.all('worker').flatMap((focus) => focus.entries);
  await stream.until('worker', () => entries().some((entry) => entry.type === 'decision'));
  expect(entries().map(({ type, by, text }) => ({ type, by, text }))).toEqual([
    { type: 'tool.used', by: 'agent', text: 'Bash (ok)' },
    { type: 'stop.attempted', by: 'agent', text: '' },
    expect.objectContaining({ type: 'decision', by: 'service' }),
  ]);
  expect(stream.all('worker').at(-1)?.view).toMatchObject({
    worker: 's1',
    state: 'stopped',
    lastDecision: { decision: 'allow' },
  });
});

test('follows several actors at once, for pages that share a stream', async () => {
  const stream = await stage.stream('stream?worker=m1&worker=m2&task=M-1');
  await stage.client.publish('worker.m1.tool.used', { tool: 'Bash' });
  await stage.client.publish('worker.m2.tool.used', { tool: 'Read' });
  await stage.client.publish('task.M-1.task.created', { title: 'Third' });
  for (const id of ['m1', 'm2']) await stream.until('worker', (focus) => focus.id === id && focus.entries.length === 1);
  expect((await stream.until('task', (focus) => focus.view !== null)).data.view).toMatchObject({ task: 'M-1' });
});

test('reports missed entries when a stream resumes', async () => {
  const first = await stage.stream('stream?worker=m3');
  await first.until('full');
  await stage.client.publish('worker.m3.tool.used', { tool: 'Bash' });
  const { id } = await first.until('delta', has('m3'));
  first.close();
  await stage.client.publish('worker.m3.tool.used', { tool: 'Read' });
  await stage.get('get/worker/m3');
  const second = await stage.stream(`stream?worker=m3&after=${id}`);
  expect((await second.until('worker')).data).toMatchObject({ id: 'm3', entries: [], omitted: 1 });
});

test('resumes after an interruption without sending everything again', async () => {
  const first = await stage.stream();
  const { id } = await first.until('full');
  await stage.client.publish('worker.c1.tool.used', { tool: 'Bash' });
  const seen = await first.until('delta', has('c1'));
  first.close();
  await stage.client.publish('worker.c2.tool.used', { tool: 'Bash' });
  const second = await stage.stream('stream', { 'Last-Event-ID': seen.id ?? id ?? '' });
  await second.until('delta', has('c2'));
  expect(second.all('full')).toEqual([]);
});

test('sends everything again if what the page missed is no longer known', async () => {
  const stream = await stage.stream('stream', { 'Last-Event-ID': '1' });
  expect((await stream.until('full')).data.workers.length).toBeGreaterThan(0);
});

test('sends a message every second, so that a page notices a lost connection', async () => {
  const stream = await stage.stream();
  const { data } = await stream.until('delta', (delta) => delta.workers === undefined);
  expect(data).toMatchObject({ seq: data.headSeq, entries: 0 });
  expect(Math.abs(data.nowMs - Date.now())).toBeLessThan(5_000);
});

test.each([
  ['stream?worker=a.b', 400],
  ['at/1?worker=a&task=b', 400],
  [`stream?${'worker=a&'.repeat(65)}`, 400],
  ['at/99999999', 400],
  ['at/-1', 400],
  ['at/x', 400],
  ['at/1?worker=nobody', 404],
  ['timeline/worker/nobody', 404],
  ['timeline/queue/main', 400],
  ['entry/99999999', 404],
  ['entry/x', 400],
  ['timeline/worker/f1?limit=0', 400],
  ['history/nobody.jsonl', 404],
])('%s is refused with %d', async (path, status) => {
  const answer = await stage.get(path);
  expect(answer.status).toBe(status);
  expect(answer.body.error.message).not.toBe('');
});

test('an operator action needs the operator token', async () => {
  await stage.client.publish('worker.o1.task.claimed', { task: 'O-1' });
  await stage.client.publish('worker.o1.task.failed', { task: 'O-1', reason: 'no idea' });
  const body = { entity: 'task', id: 'O-1', by: 'ann', verdict: 'resume' };
  expect(await stage.post('operator/resolve', body)).toMatchObject({
    status: 401,
    body: { error: { message: 'this requires the operator token' } },
  });
  expect(await stage.post('operator/resolve', body, 'a guess')).toMatchObject({
    status: 401,
    body: { error: { message: 'this token is not known here; it may have been replaced' } },
  });
  expect(await stage.post('operator/resolve', body, operatorToken)).toMatchObject({
    status: 200,
    body: { view: { task: 'O-1', state: 'idle' } },
  });
  expect(await stage.post('operator/resolve', body, operatorToken)).toMatchObject({
    status: 409,
    body: { error: { message: 'task O-1 is not escalated, it is idle' } },
  });
  expect(await client().stored('STOPGATE_main', 'stopgate.main.own.task.O-1.escalation.resolved')).toEqual([
    { by: 'ann', verdict: 'resume', seq: expect.any(Number) },
  ]);
});
const client = () => stage.client;

test('refuses the second of two operators who resolve at the same time', async () => {
  await stage.client.publish('worker.o2.task.claimed', { task: 'O-2' });
  await stage.client.publish('worker.o2.task.failed', { task: 'O-2' });
  const body = { entity: 'task', id: 'O-2', by: 'ann', verdict: 'resume' };
  const answers = await Promise.all(
    ['resume', 'stop'].map((verdict) => stage.post('operator/resolve', { ...body, verdict }, operatorToken)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
});

test('grants a chosen amount of a used-up budget, and nothing that would be ignored', async () => {
  await stage.client.publish('worker.o3.worker.registered', { policy: 'bounded' });
  await stage.client.publish('worker.o3.usage.reported', { usd: 1 });
  expect((await stage.client.ask('decide.o3')).body).toMatchObject({ cause: 'budget' });
  const resolve = (grant: unknown) =>
    stage.post('operator/resolve', { id: 'o3', by: 'ann', verdict: 'resume', grant }, operatorToken);
  for (const grant of [{}, { usd: -1 }, { usd: '5' }, { usd: 1e9 }, { dollars: 5 }, '5usd'])
    expect(await resolve(grant)).toMatchObject({ status: 400 });
  expect(await resolve({ turns: 5 })).toMatchObject({
    status: 409,
    body: { error: { message: 'the budget of worker o3 limits usd, and not turns' } },
  });
  expect(await resolve({ usd: 0.25 })).toMatchObject({
    status: 200,
    body: {
      view: {
        resolution: { by: 'ann', granted: { usd: 0.25 } },
        budgets: [{ per: 'session', kind: 'usd', used: 0, limit: 0.25, configured: 1 }],
      },
    },
  });
});

// The stage's server would wait a minute for open requests.
test('a server that closes ends its streams instead of waiting for them', async () => {
  const other = await openStage();
  const stream = await other.stream();
  await stream.until('full');
  await other.http.close();
  await other.close();
});

test('a session is a cookie that scripts cannot read', async () => {
  const url = `${stage.http.url}/api/main/session`;
  const headers = { 'content-type': 'application/json' };
  const refused = await fetch(url, { method: 'POST', headers, body: '{"token":"wrong"}' });
  expect(refused.status).toBe(401);
  const opened = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ token: operatorToken }) });
  const cookie = opened.headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/^stopgate_session_\d+=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict$/);
  expect(cookie).toContain(`stopgate_session_${new URL(url).port}=`);
  const stream = await stage.stream('stream', { cookie: cookie.split(';')[0] ?? '' });
  expect((await stream.until('hello')).data.operator).toBe(true);
});
