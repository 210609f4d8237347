/** The guarantees for NATS clients (protocol.md §2, §5 and §9), checked byte by byte. */
import { headers, type Msg } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Decision, WorkerView } from '../../../machines/index.ts';
import { countEntries, type Deployment, deploy } from '../../support/deployment.ts';
import { endService, startService } from '../../support/service.ts';

const config = JSON.stringify({
  policies: {
    default: {},
    planned: { checks: [{ plan: {} }] },
    waits: { persistence: { idle: '10m' }, keepAlives: 2 },
    brief: { persistence: { idle: '2s', hold: '20s' } },
  },
});
const planned = { steps: [{ title: 'Write tests', status: 'pending' }] };

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config, args: ['--replica', 'ra'] });
});
afterAll(() => at.close());

const request = (subject: string, body = ''): Promise<Msg> =>
  at.client.nc.request(`stopgate.main.${subject}`, body, { timeout: 30_000 });
const register = (worker: string, fields: object) => at.client.publish(`worker.${worker}.worker.registered`, fields);
const decide = async (worker: string, fields: object = {}): Promise<Decision> =>
  (await at.client.ask(`decide.${worker}`, fields)).body;
const viewOf = async (worker: string) => (await at.client.ask(`get.worker.${worker}`)).body as unknown as WorkerView;
const attempts = (worker: string) => at.client.stored('STOPGATE_main', `stopgate.main.worker.${worker}.stop.attempted`);

describe('a bad request gets a 400 at once, and nothing is logged', () => {
  const actor: Record<string, string> = { decide: 'w9', probe: 'w9', verify: 'w9', get: 'worker.w9', list: 'workers' };
  const verbs = Object.keys(actor);
  const large = JSON.stringify({ output: 'x'.repeat(1_000_000) });
  const bodies: [what: string, body: string, code: string, verbs: readonly string[]][] = [
    ['not JSON', '{', 'BAD_REQUEST', verbs],
    ['a list', '[]', 'BAD_REQUEST', verbs],
    ['a text', '"stop"', 'BAD_REQUEST', verbs],
    ['null', 'null', 'BAD_REQUEST', verbs],
    ['control characters', '\u0000\u001b[2J\r\nEvil: 1', 'BAD_REQUEST', ['decide']],
    ['1 MB', large, 'TOO_LARGE', verbs],
    ['a number for an id', '{"attempt":7}', 'BAD_REQUEST', ['decide', 'probe', 'verify']],
    ['an id with a dot', '{"attempt":"a.1"}', 'BAD_REQUEST', ['decide', 'probe', 'verify']],
    ['a hold in words', '{"holdMs":"10s"}', 'BAD_REQUEST', ['decide', 'probe', 'verify']],
    ['files that are no list', '{"files":"a.ts"}', 'BAD_REQUEST', ['decide', 'probe', 'verify']],
    ['a limit of 0', '{"limit":0}', 'BAD_REQUEST', ['list']],
    ['a limit in words', '{"limit":"all"}', 'BAD_REQUEST', ['list']],
    ['an unknown state', '{"state":"lost"}', 'BAD_REQUEST', ['list']],
    ['a bad place to go on', '{"after":"a b"}', 'BAD_REQUEST', ['list']],
  ];
  const subjects = [
    ...['decide', 'probe', 'verify'].flatMap((verb) =>
      ['a.b', '-w', '_', 'wörker', 'w%20', 'x'.repeat(129)].map((id) => `${verb}.${id}`),
    ),
    'get.worker.-w',
    'get.worker.a.b',
    'get.worker',
    'get.dog.d1',
    'get.workers.w1',
    'list.dogs',
    'list.worker',
    'list.workers.w1',
  ];
  const cases = [
    ...bodies.flatMap(([what, body, code, of]) =>
      of.map((verb) => ({ what, code, subject: `${verb}.${actor[verb]}`, body })),
    ),
    ...subjects.map((subject) => ({ what: 'a bad subject', code: 'BAD_REQUEST', subject, body: '{}' })),
  ];

  test.each(cases)('$what to $subject', async ({ subject, body, code }) => {
    const before = await countEntries(at.client);
    const reply = await request(subject, body);
    expect(reply.headers?.get('Nats-Service-Error-Code')).toBe('400');
    expect(reply.headers?.get('Nats-Service-Error')).toMatch(/^\P{Cc}{5,500}$/u);
    expect(reply.json()).toEqual({ error: { code, message: expect.stringMatching(/./), issues: expect.any(Array) } });
    expect(await countEntries(at.client)).toBe(before);
  });

  test('the error names the path of the wrong field', async () => {
    const reply = await request('decide.w9', '{"validation":[{"rule":"tests_pass","passed":"yes"}]}');
    expect(reply.json()).toMatchObject({
      error: { issues: [{ path: 'validation.0.passed', message: expect.any(String) }] },
    });
  });

  test('an unknown actor gives 404', async () => {
    for (const actor of ['worker.nobody', 'task.none', 'queue.none']) {
      expect(await at.client.ask(`get.${actor}`)).toMatchObject({
        code: '404',
        body: { error: { code: 'NOT_FOUND' } },
      });
    }
  });
});

describe('an attempt', () => {
  test('without an id gets the id seq-<seq>', async () => {
    const first = await decide('s1');
    expect(first.attempt).toBe(`seq-${first.seq}`);
    const again = await decide('s1', { attempt: first.attempt as string });
    expect(again).toEqual(first);
    expect(await attempts('s1')).toHaveLength(1);
  });

  test('keeps unknown fields in the log; the machines ignore them', async () => {
    const fields = {
      attempt: 'a1',
      stopReason: 'end_turn',
      colour: 'red',
      deep: { er: [1, null, 'ü'] },
      decision: 'allow',
    };
    await register('u1', { policy: 'planned', vendor: { build: 7 } });
    await at.client.publish('worker.u1.plan.updated', { ...planned, mood: 'good' });
    expect(await decide('u1', fields)).toMatchObject({ decision: 'block' });
    expect(await attempts('u1')).toEqual([fields]);
    expect(await at.client.stored('STOPGATE_main', 'stopgate.main.worker.u1.worker.registered')).toEqual([
      { policy: 'planned', vendor: { build: 7 } },
    ]);
    expect(await at.client.stored('STOPGATE_main', 'stopgate.main.worker.u1.plan.updated')).toEqual([
      { ...planned, mood: 'good' },
    ]);
  });

  test('repeated gets the same bytes, also from another replica, and counts once', async () => {
    await register('b1', { policy: 'planned' });
    await at.client.publish('worker.b1.plan.updated', planned);
    const ask = async () => (await request('decide.b1', '{"attempt":"a1"}')).string();
    const first = await ask();
    expect(await ask()).toBe(first);
    const line = ['serve', '--nats', at.server.url, '--http', 'off', '--replica', 'rb'];
    const second = await startService(line, at.folder.path);
    /** The text of the answer, without its replica and duration. */
    const essence = (text: string) => text.replace(/"replica":"[^"]*","tookMs":[\d.]+/, '"replica":"","tookMs":0');
    const texts = new Set<string>();
    for (let turn = 0; turn < 20; turn += 1) texts.add(essence(await ask()));
    await endService(second);
    expect([...texts]).toEqual([essence(first)]);
    expect(await decide('b1', { attempt: 'a2' })).toMatchObject({ retry: { count: 2 } });
  });

  test('has one decision in the log, equal to the one that its client received', async () => {
    const decisions = at.client.nc.subscribe('stopgate.main.decision.d1', { max: 1 });
    const reply = await request('decide.d1', '{"attempt":"a1"}');
    for await (const message of decisions) {
      expect(message.string()).toBe(reply.string());
      expect(message.headers?.get('Nats-Msg-Id')).toBe('d1:a1:decision');
    }
    await request('decide.d1', '{"attempt":"a1"}');
    await at.client.ask('get.worker.d1');
    expect(await at.client.stored('STOPGATE_main', 'stopgate.main.decision.d1')).toEqual([reply.json()]);
  });

  test('published with an inbox is answered there, and a repeat by request is the same attempt', async () => {
    const inbox = '_INBOX.wire.short-way';
    const answers = at.client.nc.subscribe(inbox, { max: 1 });
    const given = headers();
    given.set('Stopgate-Reply', inbox);
    given.set('Nats-Msg-Id', 'i1:a1');
    at.client.nc.publish('stopgate.main.worker.i1.stop.attempted', '{"attempt":"a1"}', { headers: given });
    for await (const message of answers) expect(await decide('i1', { attempt: 'a1' })).toEqual(message.json());
    expect(await attempts('i1')).toHaveLength(1);
  });
});

test('verify: 409 with the decision and nothing else, and nothing is logged or counted', async () => {
  await register('v1', { policy: 'planned' });
  await at.client.publish('worker.v1.plan.updated', planned);
  const before = await countEntries(at.client);
  const reply = await request('verify.v1');
  expect(reply.headers?.get('Nats-Service-Error-Code')).toBe('409');
  const reason = '1 of 1 plan steps remain: Write tests';
  expect(reply.json()).toEqual({
    error: { code: 'INCOMPLETE', message: reason, issues: [] },
    decision: expect.objectContaining({ decision: 'block', reason, dryRun: true, attempt: null, seq: null }),
  });
  expect(await at.client.ask('probe.v1')).toMatchObject({ code: '', body: { decision: 'block', dryRun: true } });
  expect(await countEntries(at.client)).toBe(before);
  await at.client.publish('worker.v1.plan.updated', { steps: [{ title: 'Write tests', status: 'done' }] });
  expect(await at.client.ask('verify.v1')).toMatchObject({
    code: '',
    body: { decision: 'allow', cause: 'complete', dryRun: true },
  });
  expect(await viewOf('v1')).toMatchObject({ retry: { count: 0 }, lastDecision: null });
});

test('list returns pages sorted by id, and filters', async () => {
  const ids = ['p1', 'p2', 'p3', 'p4', 'p5'];
  for (const id of ids) await register(id, { agent: 'pager', policy: 'planned' });
  for (const id of ['p2', 'p4']) await at.client.publish(`worker.${id}.plan.updated`, planned);
  for (const id of ['p2', 'p5']) await decide(id);
  type Page = { items: { worker: string }[]; next: string | null };
  const page = async (filter: object): Promise<Page> =>
    (await at.client.ask('list.workers', filter)).body as unknown as Page;
  const idsOf = async (filter: object) => (await page({ agent: 'pager', ...filter })).items.map(({ worker }) => worker);

  const seen: string[][] = [];
  for (let next: string | null = 'p0'; next !== null; ) {
    const found: Page = await page({ agent: 'pager', limit: 2, after: next });
    seen.push(found.items.map(({ worker }) => worker));
    next = found.next;
  }
  expect(seen.flat()).toEqual(ids);
  expect(seen[0]).toEqual(['p1', 'p2']);
  expect(await idsOf({ state: 'blocked' })).toEqual(['p2']);
  expect(await idsOf({ state: 'stopped' })).toEqual(['p5']);
  expect(await idsOf({ presence: 'active' })).toEqual(ids);
  expect(await idsOf({ presence: 'stale' })).toEqual([]);
  expect(await idsOf({ after: 'p3' })).toEqual(['p4', 'p5']);

  for (const [task, queue] of [
    ['T-p1', 'paged'],
    ['T-p2', 'paged'],
    ['T-p3', 'other'],
  ])
    await at.client.publish(`task.${task}.task.created`, { queue });
  expect((await at.client.ask('list.tasks', { queue: 'paged' })).body).toMatchObject({
    items: [{ task: 'T-p1' }, { task: 'T-p2' }],
    next: null,
  });
  expect((await at.client.ask('list.queues', { queue: 'paged' })).body).toMatchObject({
    items: [{ queue: 'paged', pending: 2 }],
    next: null,
  });
  expect((await at.client.ask('get.queue.paged')).body).toEqual({
    queue: 'paged',
    pending: 2,
    reported: 0,
    workers: 0,
    unattended: null,
    next: [
      { task: 'T-p1', title: null },
      { task: 'T-p2', title: null },
    ],
  });
});

test('Nats-Msg-Id: the same entry twice is stored and counted once', async () => {
  const first = await at.client.publish('worker.n1.tool.used', { tool: 'Bash' }, 'n1:call-1');
  const again = await at.client.publish('worker.n1.tool.used', { tool: 'Bash' }, 'n1:call-1');
  expect([first.duplicate, again]).toEqual([false, { ...again, seq: first.seq, duplicate: true }]);
  await at.client.publish('worker.n1.tool.used', { tool: 'Bash' }, 'n1:call-2');
  expect(await viewOf('n1')).toMatchObject({ toolCount: 2 });
});

describe('an idle worker under a keep-alive policy', () => {
  test('is blocked while it is idle or tasks wait, up to the cap of keepAlives', async () => {
    await register('k1', { policy: 'waits', queue: 'kept' });
    const idle = await decide('k1');
    expect(idle).toMatchObject({ decision: 'block', cause: 'idle', retry: { count: 0 }, idle: { limitMs: 600_000 } });
    expect(idle.idle.remainingMs).toBe(600_000 - idle.idle.ms);
    await at.client.publish('task.T-k.task.created', { queue: 'kept' });
    expect(await decide('k1')).toMatchObject({
      decision: 'block',
      cause: 'pending-tasks',
      pendingTasks: 1,
      nextPrompt: expect.stringMatching(/claim/i),
    });
    expect(await decide('k1')).toMatchObject({ decision: 'allow', cause: 'capped' });
  });

  test('may stop exactly at its idle timeout, until which a held stop waits', async () => {
    await register('k2', { policy: 'brief', queue: 'never' });
    expect(await decide('k2')).toMatchObject({
      decision: 'allow',
      cause: 'idle-timeout',
      idle: { ms: 2_000, limitMs: 2_000, remainingMs: 0 },
    });
  });
});

test('an unknown policy is named in every decision, and the default applies', async () => {
  await register('q1', { policy: 'nowhere' });
  for (const attempt of ['a1', 'a2']) {
    const { policy, verdicts } = await decide('q1', { attempt });
    expect(policy.name).toBe('default');
    expect(verdicts[0]).toMatchObject({ guard: 'policy', detail: expect.stringContaining('nowhere') });
  }
  const lines = at.log().filter(({ workerId }) => workerId === 'q1');
  expect(lines.map(({ msg }) => msg)).toEqual(['a policy is unknown', 'a policy is unknown']);
});

test('an entry that is not valid now is stored, listed with the reason, and changes nothing', async () => {
  await at.client.publish('worker.c1.task.claimed', { task: 'T-c' });
  await at.client.publish('worker.c2.task.claimed', { task: 'T-c' });
  await at.client.publish('worker.c2.task.completed', { task: 'T-unknown' });
  expect(await viewOf('c2')).toMatchObject({
    tasks: [],
    refused: [
      { type: 'task.claimed', reason: 'task T-c is held by c1' },
      { type: 'task.completed', reason: expect.any(String) },
    ],
  });
  expect((await at.client.ask('get.task.T-c')).body).toMatchObject({ state: 'working', worker: 'c1' });
});
