/** Decisions over NATS, with a plain client, as any agent could use it. */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import type { Replica } from '../../../src/app/replica.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let nc: NatsConnection;
let replica: Replica;

beforeAll(async () => {
  server = await openNats();
  nc = await connect({ servers: server.url });
  replica = await startReplica({
    nats: server.url,
    policies: {
      policies: {
        default: {},
        planned: { checks: [{ plan: {} }] },
        held: { persistence: { idle: '10m', hold: '400ms' } },
      },
    },
  });
});
afterAll(async () => {
  await replica.close();
  await nc.close();
  await server.stop();
});

const ask = async (subject: string, body: object | string = {}) => {
  const reply = await nc.request(`stopgate.main.${subject}`, typeof body === 'string' ? body : JSON.stringify(body), {
    timeout: 30_000,
  });
  return {
    code: reply.headers?.get('Nats-Service-Error-Code') ?? '',
    body: reply.json<Decision & { error: { code: string } }>(),
  };
};
const publish = (tail: string, data: object = {}) =>
  jetstream(nc).publish(`stopgate.main.${tail}`, JSON.stringify(data));

describe('decide', () => {
  test('an unknown worker with no policy may stop, with an empty request', async () => {
    const reply = await nc.request('stopgate.main.decide.fresh', '', { timeout: 30_000 });
    expect(reply.json()).toMatchObject({
      v: 1,
      fleet: 'main',
      worker: 'fresh',
      decision: 'allow',
      cause: 'no-policy',
      state: 'stopped',
      replica: 'r1',
    });
  });

  test('unreadable headers change nothing', async () => {
    const unreadable = { encode: () => Buffer.from('NATS/1.0\r\n bad name: x\r\n\r\n') } as never;
    const reply = await nc.request('stopgate.main.decide.unreadable', '', { headers: unreadable, timeout: 30_000 });
    expect(reply.json()).toMatchObject({ decision: 'allow', worker: 'unreadable' });
  });

  test('the text of a request is stored unchanged, unless the schema changes its fields', async () => {
    const manager = await jetstreamManager(nc);
    const stored = async (body: string) => {
      expect((await ask('decide.asis', body)).code).toBe('');
      const entry = await manager.streams.getMessage('STOPGATE_main', {
        last_by_subj: 'stopgate.main.worker.asis.stop.attempted',
      });
      return entry?.string();
    };
    const text = '{ "output": "done\\u0021",\n  "attempt": "as-is", "mine": [1.0, "é"] }';
    expect(await stored(text)).toBe(text);
    expect(await stored('')).toBe('{}');
    expect(await stored('{"mine": 1, "draft": { "content": "c", "mine": 2 }}')).toBe(
      '{"mine":1,"draft":{"content":"c"}}',
    );
    const deep = `{"mine": ${'['.repeat(100)}${']'.repeat(100)}}`;
    expect((await ask('decide.asis', deep)).code).toBe('400');
  });

  test('an unfinished plan blocks, and the decision is published', async () => {
    const decisions = nc.subscribe('stopgate.main.decision.w1', { max: 1 });
    await publish('worker.w1.worker.registered', { policy: 'planned' });
    await publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
    const { body } = await ask('decide.w1', { attempt: 'a1' });
    expect(body).toMatchObject({
      decision: 'block',
      reason: '1 of 1 plan steps remain: Write tests',
      retry: { count: 1, max: 3 },
    });
    for await (const message of decisions) expect(message.json()).toEqual(body);
  });

  test('a repeated attempt gets the same answer and counts once', async () => {
    const first = await ask('decide.w1', { attempt: 'a2' });
    const again = await ask('decide.w1', { attempt: 'a2' });
    expect(again).toEqual(first);
    expect(first.body.retry.count).toBe(2);
    const old = await ask('decide.w1', { attempt: 'a1' });
    expect(old.body.retry.count).toBe(1);
  });

  test('an attempt published with an inbox in its header is answered there', async () => {
    const inbox = '_INBOX.test.short-way';
    const answers = nc.subscribe(inbox, { max: 1 });
    const h = headers();
    h.set('Stopgate-Reply', inbox);
    h.set('Nats-Msg-Id', 'w2:a1');
    nc.publish('stopgate.main.worker.w2.stop.attempted', '{"attempt":"a1"}', { headers: h });
    for await (const message of answers)
      expect(message.json()).toMatchObject({ worker: 'w2', attempt: 'a1', decision: 'allow' });
    expect((await ask('decide.w2', { attempt: 'a1' })).body).toMatchObject({ attempt: 'a1', cause: 'no-policy' });
  });

  test('a decided attempt that is published again gets its decision at the new inbox', async () => {
    const { body } = await ask('decide.w10', { attempt: 'a1' });
    const inbox = '_INBOX.test.again';
    const answers = nc.subscribe(inbox, { max: 1 });
    const h = headers();
    h.set('Stopgate-Reply', inbox);
    nc.publish('stopgate.main.worker.w10.stop.attempted', '{"attempt":"a1"}', { headers: h });
    for await (const message of answers) expect(message.json()).toMatchObject({ attempt: 'a1', seq: body.seq });
  });

  // Root cause: a later inbox replaced the first, so anyone who repeated an attempt got the answer instead of its
  // agent.
  test('an open attempt that is published again is answered at both inboxes', async () => {
    await publish('worker.w11.worker.registered', { policy: 'held' });
    const inboxes = ['_INBOX.test.agent', '_INBOX.test.other'];
    const answers = inboxes.map((inbox) => nc.subscribe(inbox, { max: 1 }));
    for (const inbox of inboxes) {
      const h = headers();
      h.set('Stopgate-Reply', inbox);
      nc.publish('stopgate.main.worker.w11.stop.attempted', '{"attempt":"a1"}', { headers: h });
    }
    for (const answer of answers)
      for await (const message of answer) expect(message.json()).toMatchObject({ attempt: 'a1', cause: 'idle' });
  });

  test('a hold ends at its deadline even if no entry comes', async () => {
    await publish('worker.w3.worker.registered', { policy: 'held' });
    const { body } = await ask('decide.w3', { attempt: 'a1' });
    expect(body).toMatchObject({ decision: 'block', cause: 'idle' });
    expect(body.idle.ms).toBeGreaterThanOrEqual(400);
  });

  test.each([
    ['not JSON', 'decide.w9', '{'],
    ['no object', 'decide.w9', '[]'],
    ['wrong types', 'decide.w9', '{"attempt":7}'],
    ['a bad id', 'decide.a.b', '{}'],
    ['too large', 'decide.w9', JSON.stringify({ output: 'x'.repeat(70_000) })],
  ])('%s is answered with 400', async (_why, subject, body) => {
    expect((await ask(subject, body)).code).toBe('400');
  });
});

test('get and list show what was stored before', async () => {
  await publish('task.T-1.task.created', { title: 'one' });
  expect((await ask('get.task.T-1')).body).toMatchObject({ task: 'T-1', state: 'idle', queue: 'main' });
  expect((await ask('get.worker.nobody')).code).toBe('404');
  expect((await ask('list.workers', { state: 'blocked' })).body).toMatchObject({
    items: [{ worker: 'w1' }, { worker: 'w11' }, { worker: 'w3' }],
    next: null,
  });
});

test('lists sorted by usage have the largest first, page by page', async () => {
  await publish('worker.spent-1.usage.reported', { usd: 0.5 });
  await publish('worker.spent-2.usage.reported', { usd: 1.5, input: 10 });
  await publish('worker.spent-3.usage.reported', { usd: 1 });
  const first = (await ask('list.workers', { sort: 'usd', limit: 2 })).body as unknown as { next: string };
  expect(first).toMatchObject({
    items: [{ worker: 'spent-2', usage: { session: { usd: 1.5, tokens: 10 } } }, { worker: 'spent-3' }],
  });
  expect((await ask('list.workers', { sort: 'usd', limit: 1, after: first.next })).body).toMatchObject({
    items: [{ worker: 'spent-1' }],
  });
  // The last worker of the first page has used more since. The next page still continues where that one ended.
  await publish('worker.spent-3.usage.reported', { usd: 9 });
  expect((await ask('list.workers', { sort: 'usd', limit: 1, after: first.next })).body).toMatchObject({
    items: [{ worker: 'spent-1' }],
  });
  expect((await ask('list.workers', { sort: 'usd', after: 'nobody' })).code).toBe('400');
  expect((await ask('list.queues', { sort: 'usd' })).code).toBe('400');
});

test('verify says incomplete with the decision, probe logs nothing', async () => {
  const countOf = async () => {
    const manager = await jetstreamManager(nc);
    const { state } = await manager.streams.info('STOPGATE_main', { subjects_filter: 'stopgate.main.worker.>' });
    return state.subjects;
  };
  const before = await countOf();
  expect(await ask('verify.w1')).toMatchObject({
    code: '409',
    body: { error: { code: 'INCOMPLETE' }, decision: { dryRun: true } },
  });
  expect((await ask('probe.w1')).body).toMatchObject({ decision: 'block', dryRun: true, attempt: null, seq: null });
  expect(await countOf()).toEqual(before);
});

test('the service is found by the micro protocol', async () => {
  const info = (await nc.request('$SRV.INFO.stopgate', '')).json<{ name: string; id: string; endpoints: object[] }>();
  expect(info).toMatchObject({ name: 'stopgate', id: 'r1' });
});

test('a list too large for one message comes in pages', async () => {
  const steps = Array.from({ length: 400 }, (_, index) => ({
    title: `step ${index} ${'x'.repeat(60)}`,
    status: 'pending',
  }));
  for (let index = 0; index < 40; index += 1) await publish(`worker.large-${index}.plan.updated`, { steps });
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const { code, body } = await ask('list.workers', { limit: 1_000, ...(after === undefined ? {} : { after }) });
    expect(code).toBe('');
    const page = body as unknown as { items: { worker: string }[]; next: string | null };
    seen.push(...page.items.map(({ worker }) => worker));
    after = page.next ?? undefined;
  } while (after !== undefined);
  expect(seen.filter((worker) => worker.startsWith('large-'))).toHaveLength(40);
  expect(new Set(seen).size).toBe(seen.length);
});

test('several replicas fold a decision and a refused entry, and one of them counts it', async () => {
  const own = await openNats();
  const client = await connect({ servers: own.url });
  const names = ['r1', 'r2', 'r3'];
  const replicas = await Promise.all(names.map((name) => startReplica({ nats: own.url, name, policies: null })));
  onTestFinished(async () => {
    await Promise.all(replicas.map((each) => each.close()));
    await client.close();
    await own.stop();
  });
  const log = jetstream(client);
  for (let index = 0; index < 20; index += 1) {
    await client.request(`stopgate.main.decide.asks-${index}`, '', { timeout: 30_000 });
    await log.publish('stopgate.main.task.T-1.iteration.advanced', '{}');
    // No replica received this attempt as a request, so it has no owner.
    await log.publish(`stopgate.main.worker.logs-${index}.stop.attempted`, '{"attempt":"a1"}');
  }
  const decided = (fleet: Replica['fleet']) =>
    [...fleet.workers.keys()].filter((id) => fleet.workers.read(id)?.snapshot.context.worker.lastDecision != null);
  await expect
    .poll(() => replicas.map(({ fleet }) => decided(fleet).length), { timeout: 30_000 })
    .toEqual([40, 40, 40]);
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  expect(sum(replicas.map(({ counts }) => counts.decided))).toBe(40);
  expect(sum(replicas.map(({ counts }) => counts.refused.length))).toBe(20);
});
