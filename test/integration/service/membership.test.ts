/**
 * Replicas join, live, lag and leave (protocol.md §3, §9). One of them is simulated by its subjects. Heartbeats are
 * sent four times a second instead of once, so that a silent member is removed after three seconds instead of ten.
 */
import { headers } from '@nats-io/nats-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

const beatEveryMs = 250;
let server: NatsServer;
let client: Client;
const open: Replica[] = [];
const timers: NodeJS.Timeout[] = [];

beforeEach(async () => {
  server = await openNats();
  client = await openClient(server.url);
});
afterEach(async () => {
  for (const timer of timers.splice(0)) clearInterval(timer);
  for (const replica of open.splice(0)) await replica.close();
  await client.close();
  await server.stop();
});

const policies = { policies: { default: { checks: [{ command: 'tests' }] } } };
const start = async (name: string) => {
  const runCheck = async () => ({ outcome: 'pass', tookMs: 1 }) as const;
  const replica = await startReplica({ nats: server.url, name, policies, runCheck, beatEveryMs });
  open.push(replica);
  return replica;
};
const ofFleet = async (type: string) =>
  (await client.stored('STOPGATE_main', `stopgate.main.own.fleet.main.${type}`)).map(({ replica }) => replica);
const beats = async (name: string, count: number) => {
  const heard = client.nc.subscribe(`stopgate.main.alive.${name}`, { max: count });
  for await (const message of heard) expect(message.json()).toMatchObject({ seq: expect.any(Number) });
};

/** Answers pings and sends heartbeats, like a member that has folded the log up to `seq()`. */
async function play(name: string, seq: () => number): Promise<void> {
  client.nc.subscribe(`$SRV.PING.stopgate.${name}`, { callback: (_error, message) => void message.respond('{}') });
  const beat = () =>
    client.nc.publish(`stopgate.main.alive.${name}`, JSON.stringify({ instance: 'played', startedMs: 0, seq: seq() }));
  timers.push(setInterval(beat, 50));
  await client.publish('own.fleet.main.replica.joined', { replica: name });
}
const attemptOwnedBy = async (replica: string, worker: string) => {
  const h = headers();
  h.set('Stopgate-Replica', replica);
  client.nc.publish(`stopgate.main.worker.${worker}.stop.attempted`, '{"attempt":"a1"}', { headers: h });
  await client.nc.flush();
};
const decided = async (worker: string) =>
  (await client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`)).length;

test('a replica joins once, sends heartbeats outside of the log, and an idle fleet stores nothing', async () => {
  await start('ra');
  await start('rb');
  const { state } = await client.manager.streams.info('STOPGATE_main');
  await Promise.all([beats('ra', 3), beats('rb', 3)]);
  expect((await client.manager.streams.info('STOPGATE_main')).state.last_seq).toBe(state.last_seq);
  expect(await ofFleet('replica.joined')).toEqual(['ra', 'rb']);
  await open.shift()?.close();
  expect(await ofFleet('replica.left')).toEqual(['ra']);
});

test('a second replica with the same name does not start', async () => {
  await start('ra');
  await expect(start('ra')).rejects.toMatchObject({
    code: 'replica.running',
    message: expect.stringMatching(/'ra' is already running.*--replica/),
  });
  expect(await ofFleet('replica.joined')).toEqual(['ra']);
});

test('of three replicas with one name that start at the same moment, two refuse and never serve', async () => {
  const started = await Promise.allSettled([start('ra'), start('ra'), start('ra')]);
  const refused = started.flatMap((it) => (it.status === 'rejected' ? [it.reason] : []));
  expect(refused).toMatchObject([{ code: 'replica.running' }, { code: 'replica.running' }]);
  const asked = Array.from({ length: 8 }, (_, index) => client.ask(`decide.w${index}`, { attempt: 'a1' }));
  for (const { body } of await Promise.all(asked)) expect(body).toMatchObject({ decision: 'allow' });
});

test('a replica whose name an earlier one has ends, and the others answer', async () => {
  const ra = await start('ra');
  await start('rb');
  const earlier = { instance: 'played', startedMs: 0, seq: 1 };
  client.nc.publish('stopgate.main.alive.ra', JSON.stringify(earlier));
  expect(await ra.broken).toBe(true);
  expect(ra.service.status()).toMatchObject({
    ready: false,
    reason: expect.stringMatching(/also named 'ra'.*try again/),
  });
  // It still answers the ping, after the entry with which it leaves.
  await client.nc.request('$SRV.PING.stopgate.ra', '', { timeout: 20_000 });
  const asked = Array.from({ length: 8 }, (_, index) => client.ask(`decide.w${index}`, { attempt: 'a1' }));
  for (const { body } of await Promise.all(asked)) expect(body).toMatchObject({ decision: 'allow', replica: 'rb' });
});

test('an owner that is alive but does not keep up with the log counts as gone', async () => {
  await start('ra');
  await play('slow', () => 1);
  await attemptOwnedBy('slow', 'w1');
  await expect.poll(() => decided('w1')).toBe(1);
  const accepted = await client.stored('STOPGATE_main', 'stopgate.main.own.worker.w1.attempt.accepted');
  expect(accepted).toMatchObject([{ attempt: 'a1', replica: 'ra', from: 'slow' }]);
});

test('a member that keeps up keeps its attempts; a silent one is removed once', async () => {
  await start('ra');
  await start('rb');
  await play('third', () => 1_000_000);
  await attemptOwnedBy('third', 'w1');
  await beats('ra', 5);
  expect(await decided('w1')).toBe(0);
  expect(await ofFleet('replica.left')).toEqual([]);
  // It still answers pings, but sends no heartbeats.
  for (const timer of timers.splice(0)) clearInterval(timer);
  await expect.poll(() => ofFleet('replica.left'), { interval: 200 }).toEqual(['third']);
  await expect.poll(() => decided('w1')).toBe(1);
  // The one entry moved the attempt: nobody had to accept it.
  expect(await client.stored('STOPGATE_main', 'stopgate.main.own.worker.w1.attempt.accepted')).toEqual([]);
  await beats('ra', 3);
  expect(await ofFleet('replica.left')).toEqual(['third']);
});
