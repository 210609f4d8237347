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

test('one that is valid has its place in the log', async () => {
  expect(await ofWorker('h3', 'tool.used', { tool: 'Bash' })).toEqual({ seq: expect.any(Number) });
  expect((await client.ask('get.worker.h3')).body).toMatchObject({ state: 'working', toolCount: 1 });
  const { seq } = await replica.service.submit({
    ...{ entity: 'queue', id: 'q', type: 'depth.reported', data: { pending: 1 } },
  });
  expect(seq).toBeGreaterThan(0);
});
