/** People are notified of escalations: once, with reminders, by one replica, and without delaying anybody. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createLogger, type Logger } from '../../../src/log.ts';
import { createWebhook } from '../../../src/notify/webhook.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { openReceiver, type Receiver } from '../../support/receiver.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

/** A busy machine may need a while. */
const eventually = <T>(read: () => T) => expect.poll(read);

let server: NatsServer;
let receiver: Receiver;
let fleets = 0;
let fleet: string;
let client: Client;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await openNats();
});
beforeEach(async () => {
  receiver = await openReceiver();
  fleet = `f${++fleets}`;
  client = await openClient(server.url, fleet);
});
afterEach(async () => {
  for (const replica of open.splice(0)) await replica.close();
  await client.close();
  await receiver.close();
});
afterAll(() => server.stop());

const policies = {
  policies: {
    default: { promises: true },
    strict: { checks: [{ rules: ['ok'] }], stuckAfter: 2, retries: null },
    capped: { checks: [{ rules: ['ok'] }], retries: 1 },
  },
};
const silent = createLogger('silent');
const webhook = (url = receiver.url) =>
  createWebhook({ url, secret: null, clock: Date.now, logger: silent, count: () => {} });
const start = async (name = 'r1', remindMs: number | null = null, options: object = {}) => {
  const escalation = { remindMs, notify: webhook() };
  const replica = await startReplica({ nats: server.url, fleet, name, policies, escalation, ...options });
  open.push(replica);
  return replica;
};
const giveUp = (worker: string) =>
  client.publish(`worker.${worker}.stop.attempted`, { attempt: 'a1', output: '<promise>ESCALATE</promise>' });
const posts = (id: string) => receiver.received.map(({ body }) => body).filter((body) => body.id === id);
const notices = (entity: string, id: string) =>
  client.stored(`STOPGATE_${fleet}`, `stopgate.${fleet}.own.${entity}.${id}.escalation.notified`);
/** Waits for another complete notice, by which time everything before it has happened. */
const settle = async (worker = 'last') => {
  await giveUp(worker);
  await eventually(() => notices('worker', worker)).toHaveLength(1);
};

test('an escalation is sent with its decision, and the notification is an entry', async () => {
  await start();
  await giveUp('w1');
  await eventually(() => notices('worker', 'w1')).toHaveLength(1);
  const [{ decision, ...body } = {}, ...more] = posts('w1');
  expect(more).toEqual([]);
  const { escalation } = (await client.ask('get.worker.w1')).body as unknown as { escalation: { since: string } };
  expect(body).toEqual({
    v: 1,
    kind: 'escalation',
    fleet,
    entity: 'worker',
    id: 'w1',
    since: escalation.since,
    sentence: 'The agent asked for a person',
    reason: expect.stringContaining('<promise>ESCALATE</promise>'),
    cause: 'escalated',
    attempt: 'a1',
    missing: ['a person resumes it, or lets it stop'],
    link: null,
    agent: null,
    cwd: null,
    reminder: 0,
    delivery: expect.stringMatching(new RegExp(`^${fleet}/worker/w1/\\d+/.+/1$`)),
  });
  expect(decision).toMatchObject({ worker: 'w1', attempt: 'a1', cause: 'escalated', state: 'escalated' });
  expect(await notices('worker', 'w1')).toEqual([{ count: 1, delivery: body.delivery }]);
  expect(escalation).toMatchObject({ notified: 1, acknowledgedBy: null });
});

test('an escalation of a stuck worker is sent, too', async () => {
  await start();
  await client.publish('worker.w1.worker.registered', { policy: 'strict' });
  for (const attempt of ['a1', 'a2']) await client.ask('decide.w1', { attempt });
  await eventually(() => posts('w1')).toMatchObject([{ cause: 'stuck', attempt: 'a2', reason: expect.any(String) }]);
});

test('reminders are sent until somebody acknowledges it', async () => {
  await start('r1', 60);
  await giveUp('w1');
  await giveUp('w2');
  await eventually(() => posts('w1').length).toBeGreaterThanOrEqual(3);
  expect(posts('w1').slice(0, 3)).toMatchObject([
    { kind: 'escalation', reminder: 0 },
    { kind: 'reminder', reminder: 1 },
    { kind: 'reminder', reminder: 2 },
  ]);
  expect(new Set(posts('w1').map(({ delivery }) => delivery)).size).toBe(posts('w1').length);
  await client.publish('own.worker.w1.escalation.acknowledged', { by: 'ann' });
  await client.ask('get.worker.w1');
  // One may have been in flight.
  const others = posts('w2').length;
  await eventually(() => posts('w2').length).toBeGreaterThan(others + 1);
  const told = posts('w1').length;
  await eventually(() => posts('w2').length).toBeGreaterThan(others + 4);
  expect(posts('w1')).toHaveLength(told);
  expect((await client.ask('get.worker.w1')).body).toMatchObject({ escalation: { acknowledgedBy: 'ann' } });
});

test('the next escalation of the same worker is sent, too', async () => {
  await start();
  await giveUp('w1');
  await eventually(() => posts('w1')).toHaveLength(1);
  await client.publish('own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' });
  await client.publish('worker.w1.stop.attempted', { attempt: 'a2', output: '<promise>BLOCKED</promise>' });
  await eventually(() => posts('w1')).toMatchObject([{ attempt: 'a1' }, { attempt: 'a2', kind: 'escalation' }]);
});

test('failed tasks and tasks at the cap are sent; a task that was escalated with its worker is not', async () => {
  await start();
  await client.publish('worker.w1.task.claimed', { task: 'T-1' });
  await client.publish('worker.w1.task.failed', { task: 'T-1', reason: 'no access' });
  await client.publish('worker.w2.worker.registered', { policy: 'capped' });
  await client.publish('worker.w2.task.claimed', { task: 'T-2' });
  for (const attempt of ['a1', 'a2']) await client.ask('decide.w2', { attempt });
  await client.publish('worker.w3.task.claimed', { task: 'T-3' });
  await giveUp('w3');
  await settle();
  await eventually(() => receiver.received.length).toBe(4);
  const told = receiver.received.map(({ body }) => body).sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
  expect(told).toMatchObject([
    { entity: 'task', id: 'T-1', cause: 'failed', reason: 'no access', attempt: null },
    { entity: 'task', id: 'T-2', cause: 'capped', attempt: 'a2', decision: { worker: 'w2', decision: 'allow' } },
    { entity: 'worker', id: 'last' },
    { entity: 'worker', id: 'w3', decision: { task: 'T-3' } },
  ]);
  expect((await client.ask('get.task.T-3')).body).toMatchObject({
    state: 'escalated',
    escalation: { withWorker: true },
  });
});

test('one of two replicas sends it', async () => {
  await start('ra', 60);
  await start('rb', 60);
  const workers = Array.from({ length: 12 }, (_, index) => `w${index}`);
  for (const worker of workers) await giveUp(worker);
  await eventually(() => receiver.received.length).toBeGreaterThanOrEqual(48);
  const deliveries = receiver.received.map(({ body }) => body.delivery);
  expect(new Set(deliveries).size).toBe(deliveries.length);
});

test('a joining replica repeats no notice; a lone one sends those that are missing', async () => {
  const first = await start('ra');
  await giveUp('w1');
  await eventually(() => notices('worker', 'w1')).toHaveLength(1);
  open.splice(0);
  await first.close();
  await giveUp('w2');
  await giveUp('w3');
  await client.publish('own.worker.w3.escalation.acknowledged', { by: 'ann' });
  await start('rb');
  await eventually(() => notices('worker', 'w2')).toHaveLength(1);
  await settle();
  expect(receiver.received.map(({ body }) => body.id)).toEqual(['w1', 'w2', 'last']);
});

test('another replica sends what the first could not send before it left', async () => {
  receiver.answer(() => {});
  const first = await start('ra');
  await giveUp('w1');
  await eventually(() => posts('w1')).toHaveLength(1);
  await start('rb');
  receiver.answer(200);
  open.splice(0, 1);
  await first.close();
  await eventually(() => notices('worker', 'w1')).toHaveLength(1);
  const [lost, told] = posts('w1');
  expect(told?.delivery).toBe(lost?.delivery);
});

test('a hanging receiver does not delay decisions', async () => {
  receiver.answer(() => {});
  await start('r1', 60);
  const workers = Array.from({ length: 20 }, (_, index) => `h${index}`);
  for (const worker of workers) await giveUp(worker);
  // Eight may be open at once, and none of them gets an answer.
  await eventually(() => receiver.received.length).toBe(8);
  for (let index = 0; index < 20; index += 1) {
    const { body } = await client.ask(`decide.w${index}`, { attempt: 'a1' });
    expect(body.decision).toBe('allow');
  }
  expect(await notices('worker', 'h0')).toEqual([]);
});

test('a receiver that refuses it gets it again only at the next reminder, with the same delivery id', async () => {
  receiver.answer((response, count) => void response.writeHead(count < 3 ? 401 : 200).end());
  await start('r1', 60);
  await giveUp('w1');
  await eventually(() => notices('worker', 'w1')).not.toEqual([]);
  const [first, second, third] = posts('w1');
  expect([first, second, third].map((body) => body?.delivery)).toEqual(Array(3).fill(first?.delivery));
  expect(third).toMatchObject({ kind: 'escalation', reminder: 0 });
});

test('changed rules apply at once, also to open escalations', async () => {
  const replica = await start();
  const other = await openReceiver();
  onTestFinished(() => other.close());
  await giveUp('w1');
  await eventually(() => notices('worker', 'w1')).toHaveLength(1);
  replica.setEscalation({ remindMs: 60, notify: webhook(other.url) });
  await eventually(() => other.received.length).toBeGreaterThanOrEqual(2);
  expect(other.received[0]?.body).toMatchObject({ kind: 'reminder', reminder: 1, id: 'w1' });
  expect(receiver.received).toHaveLength(1);
});

test('without a webhook it is logged and no entry is stored', async () => {
  const warned: { words: string; reminder: unknown; workerId: unknown }[] = [];
  const logger: Logger = {
    ...silent,
    warn: ((line: { reminder?: number; workerId?: string }, words: string) => {
      if (line.reminder !== undefined) warned.push({ words, reminder: line.reminder, workerId: line.workerId });
    }) as Logger['warn'],
    debug: () => {},
    info: () => {},
    error: () => {},
    child: () => logger,
  };
  await start('r1', null, { escalation: { remindMs: 60, notify: null }, logger });
  await giveUp('w1');
  await eventually(() => warned.length).toBeGreaterThanOrEqual(3);
  expect(warned.slice(0, 3)).toEqual([
    { words: 'escalated: needs a person', reminder: 0, workerId: 'w1' },
    { words: 'still escalated: not acknowledged', reminder: 1, workerId: 'w1' },
    { words: 'still escalated: not acknowledged', reminder: 2, workerId: 'w1' },
  ]);
  expect(await notices('worker', 'w1')).toEqual([]);
});
