/** A replica that starts from a snapshot is as if it had folded the whole log (protocol.md §15). */
import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { headers } from '@nats-io/nats-core';
import { Objm } from '@nats-io/obj';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import type { SnapshotSchedule } from '../../../src/host/maintenance/snapshot-taker.ts';
import { type NatsConnection, openConnection } from '../../../src/nats/connection.ts';
import { createSnapshotStore, type SnapshotStore } from '../../../src/nats/snapshots/snapshot-store.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';
import { snapshotText } from '../../support/snapshot-text.ts';

let server: NatsServer;
let client: Client;
let nc: NatsConnection;
let store: SnapshotStore;
const open = new Set<Replica>();

beforeEach(async () => {
  server = await openNats();
  client = await openClient(server.url);
  nc = await openConnection({ url: server.url, name: 'test', patient: false });
  store = createSnapshotStore(nc, 'main');
});
afterEach(async () => {
  for (const replica of open) await replica.close();
  open.clear();
  await Promise.all([client.close(), nc.close()]);
  await server.stop();
});

async function start(name: string, options: object = {}): Promise<Replica> {
  const replica = await startReplica({ nats: server.url, name, ...options });
  open.add(replica);
  return replica;
}
async function stop(replica: Replica): Promise<void> {
  open.delete(replica);
  await replica.close();
}
const newestSeq = async () => (await store.list())[0]?.position.seq;
const removeSnapshots = () => client.manager.streams.delete('OBJ_STOPGATE-SNAPSHOTS_main');

test('an orderly end takes a snapshot, and the next start continues from it', async () => {
  const first = await start('r1');
  await client.publish('worker.w1.task.claimed', { task: 'T-1' });
  const { body: decision } = await client.ask('decide.w1', { attempt: 'a1' });
  await stop(first);
  expect(await newestSeq()).toBeGreaterThan(3);
  // Without its beginning the log alone cannot be folded.
  const { config, state } = await client.manager.streams.info('STOPGATE_main');
  expect(state.first_seq).toBe(1);
  expect(config.deny_delete).toBe(true);
  const second = await start('r1');
  expect((await client.ask('get.worker.w1')).body).toMatchObject({ lastDecision: { attempt: 'a1' } });
  // The attempt is known, and its decision is read back from the log.
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toEqual(decision);
  const text = snapshotText(second.fleet);
  await removeSnapshots();
  const third = await start('r2');
  await second.service.get('worker', 'w1');
  expect(withoutReplicas(snapshotText(third.fleet))).toBe(withoutReplicas(text));
});

/** Without what a new replica changes: the replicas and the log's clock. */
const withoutReplicas = (text: string): string =>
  text.replaceAll(/^\["(replicas|rulesOfReplicas|seq|nowMs)".*\n/gm, '');

test('open work continues: attempts with their inboxes, held ones, and evaluations', async () => {
  const policies = { policies: { default: { checks: [{ remote: 'review' }] } } };
  const first = await start('r1', { policies });
  const inbox = nc.subscribe('_INBOX.snapshots.1', { max: 1 });
  const reply = headers();
  reply.set('Stopgate-Reply', '_INBOX.snapshots.1');
  // The check never answers, so the attempt stays open.
  const silent = nc.subscribe('stopgate.main.check.review');
  nc.publish('stopgate.main.worker.w1.stop.attempted', JSON.stringify({ attempt: 'a1' }), { headers: reply });
  await expect.poll(async () => (await client.ask('get.worker.w1')).body).toMatchObject({ attempt: { attempt: 'a1' } });
  await stop(first);
  silent.unsubscribe();
  nc.subscribe('stopgate.main.check.review', {
    callback: (_error, message) => void message.respond('{"complete":true}'),
  });
  await nc.flush();
  await start('r1', { policies });
  for await (const message of inbox)
    expect(message.json()).toMatchObject({ attempt: 'a1', decision: 'allow', cause: 'complete' });
  // Equal policies are not set again.
  expect(await client.stored('STOPGATE_main', 'stopgate.main.own.fleet.main.policy.set')).toHaveLength(1);
});

/** Forges a snapshot with a valid digest, as anyone with write access can. */
function forged(bytes: Uint8Array, change: (text: string) => string): Uint8Array {
  const text = gunzipSync(bytes).toString();
  const original = text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1);
  const body = change(original);
  expect(body).not.toBe(original);
  return gzipSync(`${body}${JSON.stringify(['sha256', createHash('sha256').update(body).digest('hex')])}\n`);
}
const forge = (pattern: RegExp, forgery: string) => (bytes: Uint8Array) =>
  forged(bytes, (text) => text.replace(pattern, forgery));

const poisons: readonly [what: string, poison: (bytes: Uint8Array) => Uint8Array][] = [
  ['is damaged', () => Buffer.from('damaged')],
  ['holds nothing of the host', forge(/^\["host",.*$/m, '["host",null]')],
  ['holds else of the host', forge(/^\["host",.*$/m, '["host",{"outbox":[1]}]')],
  ['holds a worker of another form', forge(/^(\["workers","w1",).*$/m, '$1{}]')],
  ['has no clock', forge(/^\["nowMs",.*\n/m, '')],
  ['has an attempt of nobody', forge(/^\["nowMs",/m, '["open",["w9"]]\n["nowMs",')],
  ['has policies of another form', forge(/^\["policies",.*$/m, '["policies",{}]')],
];

test('a damaged or forged snapshot is skipped, and the whole log is folded', async () => {
  const first = await start('r1');
  await client.publish('worker.w1.worker.registered', { agent: 'codex' });
  await stop(first);
  const [info] = await store.list();
  const bucket = await new Objm(nc).open('STOPGATE-SNAPSHOTS_main');
  const name = info?.name as string;
  const metadata = (await bucket.info(name))?.metadata ?? {};
  const bytes = (await bucket.getBlob(name)) as Uint8Array;
  for (const [what, poison] of poisons) {
    const poisoned = poison(bytes);
    expect(poisoned, what).not.toEqual(bytes);
    for (const other of await bucket.list()) await bucket.delete(other.name);
    await bucket.putBlob({ name, metadata }, poisoned);
    const replica = await start('r1');
    expect((await client.ask('get.worker.w1')).body, what).toMatchObject({ agent: 'codex' });
    await stop(replica);
  }
});

test('one of several replicas takes the snapshot that is due', async () => {
  // A replica that is behind when a snapshot is due checks again soon.
  const snapshotSchedule: SnapshotSchedule = {
    everyEntries: 1_000,
    cheapEntries: 1_000,
    cheapBytes: 1_048_576,
    pauseFactor: 100,
    quietEntries: 1_000,
    quietMs: 300_000,
    checkEveryMs: 100,
    standbyMs: 60_000,
  };
  await Promise.all(['r1', 'r2', 'r3'].map((name) => start(name, { snapshotSchedule })));
  for (let count = 0; count < 1_000; count += 1) nc.publish('stopgate.main.worker.w1.heartbeat.sent', '{}');
  await expect.poll(async () => (await store.list()).length).toBe(1);
  expect(await newestSeq()).toBeGreaterThanOrEqual(1_000);
});
