/** submit: an entry over HTTP is answered once it is folded, and a refusal with its reason (docs/wire.md). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let replica: Awaited<ReturnType<typeof startReplica>>;

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
  replica = await startReplica({ nats: server.url });
});
afterAll(async () => {
  await replica.close();
  await client.close();
  await server.stop();
});

const ofWorker = (id: string, type: string, data: object, messageId?: string) =>
  replica.service.submit({ entity: 'worker', id, type, data, ...(messageId === undefined ? {} : { messageId }) });
const ofTask = (id: string, type: string) => replica.service.submit({ entity: 'task', id, type, data: {} });

test('a completion of a task that is not held is stored and refused', async () => {
  await ofTask('A', 'task.created');
  await expect(ofWorker('h1', 'task.completed', { task: 'A' })).rejects.toMatchObject({
    code: 'entry.refused',
    message: expect.stringContaining('A'),
  });
  expect(await client.stored('STOPGATE_main', 'stopgate.main.worker.h1.task.completed')).toEqual([{ task: 'A' }]);
});

test('a claim of a cancelled task is refused, and again under the same message id', async () => {
  await ofTask('B', 'task.created');
  await ofTask('B', 'task.cancelled');
  const claim = () => ofWorker('h2', 'task.claimed', { task: 'B' }, 'claim-b');
  await expect(claim()).rejects.toMatchObject({ code: 'entry.refused' });
  await expect(claim()).rejects.toMatchObject({ code: 'entry.refused' });
  await expect(ofTask('B', 'task.cancelled')).rejects.toMatchObject({ code: 'entry.refused' });
});

test('a valid entry is answered with its sequence number', async () => {
  expect(await ofWorker('h3', 'tool.used', { tool: 'Bash' })).toEqual({ seq: expect.any(Number) });
  expect((await client.ask('get.worker.h3')).body).toMatchObject({ state: 'working', toolCount: 1 });
  const { seq } = await replica.service.submit({
    entity: 'queue',
    id: 'q',
    type: 'depth.reported',
    data: { pending: 1 },
  });
  expect(seq).toBeGreaterThan(0);
});

test('a refusal is reported for an unknown task, and after more refusals than a view lists', async () => {
  await expect(ofTask('nobody', 'task.cancelled')).rejects.toMatchObject({
    code: 'entry.refused',
    message: 'task nobody is unknown',
  });
  const many = Array.from({ length: 40 }, (_, index) => ofWorker('h4', 'task.completed', { task: `X-${index}` }));
  const ended = await Promise.allSettled(many);
  expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['rejected']));
});

test('a publisher over NATS can ask about its entry', async () => {
  const { seq } = await client.publish('task.nowhere.task.cancelled');
  expect(await client.ask('get.task.nowhere', { entry: seq })).toMatchObject({
    code: '409',
    body: { error: { code: 'REFUSED', message: 'task nowhere is unknown' } },
  });
  const { seq: good } = await client.publish('worker.h5.heartbeat.sent');
  expect((await client.ask('get.worker.h5', { entry: good })).body).toEqual({ entry: good, refused: null });
  // Nothing is reported about another actor.
  expect((await client.ask('get.worker.h5', { entry: seq })).body).toEqual({ entry: seq, refused: null });
});
