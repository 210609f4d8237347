/** claim-next: many workers and replicas share one queue, and each task goes to one worker (protocol.md §5). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let replicas: Awaited<ReturnType<typeof startReplica>>[];

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
  replicas = await Promise.all(['ra', 'rb'].map((name) => startReplica({ nats: server.url, name })));
});
afterAll(async () => {
  for (const replica of replicas) await replica.close();
  await client.close();
  await server.stop();
});

const next = (replica: number, worker: string, body: object = {}) =>
  (replicas[replica] as (typeof replicas)[number]).service.claimNext(worker, body);
const create = (task: string, data: object = {}) => client.publish(`task.${task}.task.created`, data);

test('two replicas give each task to one worker, even at the same moment', async () => {
  const tasks = Array.from({ length: 12 }, (_, index) => `T-${index + 1}`);
  for (const task of tasks) await create(task, { queue: 'build' });
  const asked = tasks.map((_, index) => next(index % 2, `w${index + 1}`, { queue: 'build' }));
  const given = (await Promise.all(asked)).map(({ task }) => task);
  expect(new Set(given)).toEqual(new Set(tasks));
  expect(await next(0, 'w13', { queue: 'build' })).toEqual({ task: null });
});

test('a repeated request gets the same task, on any replica and after the worker has released it', async () => {
  await create('R-1', { queue: 'repeat' });
  await create('R-2', { queue: 'repeat' });
  const body = { queue: 'repeat', request: 'r1' };
  const asked = await Promise.all([next(0, 'again', body), next(1, 'again', body), next(0, 'again', body)]);
  expect(asked.map(({ task }) => task)).toEqual(['R-1', 'R-1', 'R-1']);
  expect(await client.stored('STOPGATE_main', 'stopgate.main.worker.again.task.claimed')).toHaveLength(1);
  await client.publish('worker.again.task.completed', { task: 'R-1' });
  expect(await next(1, 'again', body)).toMatchObject({ task: 'R-1', state: 'stopped' });
  // After the server has forgotten the message ids, and with nothing left in the queue.
  const other = { queue: 'nothing', request: 'r9' };
  await create('R-9', { queue: 'elsewhere' });
  await client.publish('worker.again.task.claimed', { task: 'R-9', request: 'r9' });
  await client.publish('worker.again.task.released', { task: 'R-9' });
  expect(await next(0, 'again', other)).toMatchObject({ task: 'R-9', state: 'idle' });
  expect(await next(1, 'again', { queue: 'repeat', request: 'r2' })).toMatchObject({ task: 'R-2' });
});

test('a request over NATS gets the view, a wrong one the reason', async () => {
  await create('V-1', { queue: 'view', title: 'Fix login' });
  const { body } = await client.ask('claim-next.viewer', { queue: 'view' });
  expect(body).toMatchObject({ task: 'V-1', title: 'Fix login', worker: 'viewer', state: 'working' });
  expect((await client.ask('claim-next.viewer', { queue: 'view' })).body).toEqual({ task: null });
  expect(await client.ask('claim-next.viewer', { queue: 'no queue' })).toMatchObject({ code: '400' });
});

test('a task whose steps do not fit is refused, and not taken from the queue', async () => {
  const steps = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ title: `s${index}`, status: 'open' }));
  await create('P-1', { queue: 'plans', plan: steps(300) });
  await client.publish('worker.full.plan.updated', { steps: steps(300) });
  await expect(next(0, 'full', { queue: 'plans' })).rejects.toMatchObject({
    code: 'entry.refused',
    message: 'the plan would have 600 steps; 500 is the maximum',
  });
  expect(await next(1, 'free', { queue: 'plans' })).toMatchObject({ task: 'P-1', worker: 'free' });
});

test('a worker that is out of service gets none, and nothing is stored', async () => {
  await create('E-1', { queue: 'ends' });
  await client.publish('worker.gone.session.ended');
  await expect(next(0, 'gone', { queue: 'ends' })).rejects.toMatchObject({ message: 'worker gone is ended' });
  expect(await client.stored('STOPGATE_main', 'stopgate.main.worker.gone.task.claimed')).toHaveLength(0);
});
