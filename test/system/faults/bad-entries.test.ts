/** Invalid entries are ignored by all replicas, and copied once to the dead-letter stream (protocol.md §9). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
const replicas: Replica[] = [];

beforeAll(async () => {
  server = await openNats();
  replicas.push(
    await startReplica({ nats: server.url, name: 'r1' }),
    await startReplica({ nats: server.url, name: 'r2' }),
  );
  client = await openClient(server.url);
});
afterAll(async () => {
  for (const replica of replicas) await replica.close();
  await client.close();
  await server.stop();
});

const deadOnes = (subject = 'stopgate.main.dead.>') => client.stored('STOPGATE-DEAD_main', subject);

test('each invalid entry has one dead letter, with reason and sequence', async () => {
  const bad = [
    ['worker.w1.tool.used', '{', 'NOT_JSON', 'dead.worker.w1'],
    ['worker.w1.tool.used', '{"tool":7}', 'BAD_SHAPE', 'dead.worker.w1'],
    ['worker.w1.worker.promoted', '{}', 'UNKNOWN_TYPE', 'dead.worker.w1'],
    ['worker.w1.tool', '{}', 'UNKNOWN_TYPE', 'dead.worker.w1'],
    ['worker.-w.worker.registered', '{}', 'BAD_ID', 'dead.worker._'],
    ['worker.w1.task.claimed', '{"task":"T 1"}', 'BAD_ID', 'dead.worker.w1'],
    ['task.T-1.task.created', JSON.stringify({ title: 'x'.repeat(70_000) }), 'TOO_LARGE', 'dead.task.T-1'],
    ['worker.w1.plan.updated', `{"steps":"${'é'.repeat(6_000)}"}`, 'BAD_SHAPE', 'dead.worker.w1'],
  ] as const;
  const seqs: number[] = [];
  for (const [tail, data] of bad) seqs.push((await client.publish(tail, data)).seq);
  await expect.poll(async () => (await deadOnes()).length).toBe(bad.length);
  const letters = await deadOnes();
  for (const [index, [tail, data, code]] of bad.entries()) {
    expect(letters[index]).toMatchObject({ code, seq: seqs[index], subject: `stopgate.main.${tail}` });
    const kept = letters[index]?.data as string;
    expect(data.startsWith(kept)).toBe(true);
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(8_192);
  }
  for (const [, , , subject] of bad) expect((await deadOnes(`stopgate.main.${subject}`)).length).toBeGreaterThan(0);
});

// Root cause: a promise and a copy of every invalid entry were retained. Now most are read back from the log.
test('a flood of invalid entries gets one dead letter each, in order', async () => {
  const before = (await client.manager.streams.info('STOPGATE-DEAD_main')).state.last_seq;
  for (let index = 0; index < 2_000; index += 1)
    client.nc.publish('stopgate.main.worker.flood.tool.used', `bad ${index}`);
  const lastSeq = async () => (await client.manager.streams.info('STOPGATE-DEAD_main')).state.last_seq;
  await expect.poll(lastSeq).toBe(before + 2_000);
  const seqs = (await deadOnes('stopgate.main.dead.worker.flood')).map(({ seq }) => seq as number);
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
});

test('a restart repeats no dead letters and writes the missing ones', async () => {
  const before = (await deadOnes()).length;
  for (const replica of replicas.splice(0)) await replica.close();
  await client.publish('worker.w1.tool.used', 'while nobody was there');
  replicas.push(await startReplica({ nats: server.url, name: 'r3' }));
  await expect.poll(async () => (await deadOnes()).length).toBe(before + 1);
});

test('a valid entry that does not fit the current state is listed as refused, without a dead letter', async () => {
  const before = (await deadOnes()).length;
  await client.publish('worker.w5.task.claimed', { task: 'T-5' });
  await client.publish('worker.w6.task.claimed', { task: 'T-5' });
  const { body } = await client.ask('get.worker.w6');
  expect(body).toMatchObject({ tasks: [], refused: [{ type: 'task.claimed', reason: 'task T-5 is held by w5' }] });
  expect((await deadOnes()).length).toBe(before);
});

test('a request of 1 MB gets an error and is not stored', async () => {
  const { code, body } = await client.ask('decide.w1', JSON.stringify({ output: 'x'.repeat(1_000_000) }));
  expect(code).toBe('400');
  expect(body.error.code).toBe('TOO_LARGE');
});
