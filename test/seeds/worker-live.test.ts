/**
 * Seed 004 again, on a nats-server and with a replica: the same day of a worker, a minute being 100 ms. What must come
 * out is taken from the log's own times, not from ours, so that a slow machine changes the figures and not the result.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Decision, WorkerView } from '../../machines/index.ts';
import type { Replica } from '../../src/app/replica.ts';
import { type Client, openClient } from '../support/client.ts';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { startReplica } from '../support/replica.ts';

const minuteMs = 100;
const limitMs = 10 * minuteMs;

let server: NatsServer;
let client: Client;
let replica: Replica;

beforeAll(async () => {
  server = await startNatsServer();
  client = await openClient(server.url);
  const policies = {
    default: { persistence: { idle: limitMs, queue: 'jobs' } },
    steady: { persistence: { idle: '1m' } },
    held: { persistence: { idle: '1m', hold: '30s', queue: 'held' } },
  };
  replica = await startReplica({ nats: server.url, policies: { policies } });
});
afterAll(async () => {
  await replica.close();
  await client.close();
  await server.stop();
});

/** Publishes an entry and gives the time that the log gave it. */
async function say(tail: string, data: object = {}): Promise<number> {
  const { seq } = await client.publish(tail, data);
  const stored = await client.manager.streams.getMessage('STOPGATE_main', { seq });
  return stored?.time.getTime() ?? Number.NaN;
}

const stop = async (worker: string, fields: object = {}): Promise<Decision> =>
  (await client.ask(`decide.${worker}`, fields)).body;

const look = async (worker: string) => (await client.ask(`get.worker.${worker}`)).body as unknown as WorkerView;

/** One poll of an idle worker: the answer must be what the log's own times say. */
async function poll(worker: string, activeMs: number): Promise<Decision> {
  await client.publish(`worker.${worker}.heartbeat.sent`);
  const decision = await stop(worker);
  const ms = Date.parse(decision.at) - activeMs;
  const over = ms >= limitMs;
  expect(decision).toMatchObject({
    idle: { ms, limitMs, remainingMs: Math.max(0, limitMs - ms) },
    decision: over ? 'allow' : 'block',
    cause: over ? 'idle-timeout' : 'idle',
    state: over ? 'stopped' : 'blocked',
  });
  return decision;
}

test('from 12:00 to 12:49 over the wire: the idle time is that between tasks, and ends the worker once', async () => {
  const startedMs = Date.now();
  /** Gives false where so much time went by, while nobody ran us, that the minute is over. */
  const at = async (count: number, latest = count + 0.5) => {
    await sleep(Math.max(0, startedMs + count * minuteMs - Date.now()));
    return Date.now() < startedMs + latest * minuteMs;
  };

  const registeredMs = await say('worker.w1.worker.registered');
  for (let count = 1; count <= 8; count += 1) if (await at(count, 8.5)) await poll('w1', registeredMs);

  await at(9);
  await say('task.T-1.task.created', { queue: 'jobs' });
  expect(await stop('w1')).toMatchObject({ decision: 'block', cause: 'pending-tasks', pendingTasks: 1 });
  const claimedMs = await say('worker.w1.task.claimed', { task: 'T-1' });
  expect((await look('w1')).idle.ms).toBe(0);

  for (let count = 10; count <= 38; count += 1) {
    await at(count);
    await client.publish('worker.w1.tool.used', { tool: 'Edit' });
    expect(await look('w1')).toMatchObject({ state: 'working', presence: 'active', idle: { ms: 0 } });
  }
  await at(39);
  const completedMs = await say('worker.w1.task.completed', { task: 'T-1' });
  expect(completedMs - claimedMs).toBeGreaterThan(2 * limitMs); // more than any idle time there was

  let last: Decision | null = null;
  for (let count = 40; last?.decision !== 'allow'; count += 1) {
    await at(count);
    last = await poll('w1', completedMs);
  }
  expect(Date.parse(last.at) - completedMs).toBeGreaterThanOrEqual(limitMs);
  expect((await look('w1')).state).toBe('stopped');
});

test('a held worker costs no turn: one request stays open over many minutes, until a task arrives', async () => {
  await client.publish('worker.w2.worker.registered', { policy: 'held' });
  let answered = false;
  const asked = client.ask('decide.w2', { attempt: 'a1' }, 20_000).finally(() => {
    answered = true;
  });
  await expect.poll(async () => (await look('w2')).state).toBe('validating');
  await sleep(5 * minuteMs);
  expect(answered).toBe(false);
  await say('task.T-2.task.created', { queue: 'held' });
  const { body } = await asked;
  expect(body).toMatchObject({ decision: 'block', cause: 'pending-tasks', pendingTasks: 1 });
  expect(body.idle.ms).toBeGreaterThanOrEqual(5 * minuteMs);
  expect(await client.stored('STOPGATE_main', 'stopgate.main.worker.w2.stop.attempted')).toHaveLength(1);
});

test('two workers on one queue: both are kept for its task, one gets it, the other waits on', async () => {
  for (const worker of ['w3', 'w4'])
    await client.publish(`worker.${worker}.worker.registered`, { policy: 'steady', queue: 'two' });
  await client.publish('task.T-3.task.created', { queue: 'two' });
  for (const worker of ['w3', 'w4']) expect(await stop(worker)).toMatchObject({ cause: 'pending-tasks' });
  for (const worker of ['w3', 'w4']) await client.publish(`worker.${worker}.task.claimed`, { task: 'T-3' });
  expect(await look('w3')).toMatchObject({ state: 'working', tasks: ['T-3'] });
  expect(await look('w4')).toMatchObject({ tasks: [], refused: [{ type: 'task.claimed' }] });
  expect(await stop('w4')).toMatchObject({ decision: 'block', cause: 'idle', pendingTasks: 0 });
});
