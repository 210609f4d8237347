/** Retention: the log is trimmed up to its second newest snapshot, into an archive (protocol.md §15). */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Objm } from '@nats-io/obj';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import type { RetentionRules } from '../../../src/config/file.ts';
import { openConnection } from '../../../src/nats/connection.ts';
import { createSnapshotStore } from '../../../src/nats/snapshots/snapshot-store.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let archive: string;
let replica: Replica | null = null;

beforeEach(async () => {
  server = await openNats();
  client = await openClient(server.url);
  archive = mkdtempSync(join(tmpdir(), 'stopgate-archive-'));
});
afterEach(async () => {
  await stop();
  await client.close();
  await server.stop();
  rmSync(archive, { recursive: true });
});

async function start(retention?: RetentionRules): Promise<Replica> {
  replica = await startReplica({ nats: server.url, ...(retention === undefined ? {} : { retention }) });
  return replica;
}
async function stop(): Promise<void> {
  await replica?.close();
  replica = null;
}
const stateOf = async () => (await client.manager.streams.info('STOPGATE_main')).state;

/** The last snapshot is that of an orderly end. @returns the last entry of each */
async function takeSnapshots(count: number): Promise<number[]> {
  const ends: number[] = [];
  await start();
  for (let round = 1; round <= count; round += 1) {
    for (let entry = 0; entry < 5; entry += 1)
      await client.publish(`worker.w${round}.tool.used`, { tool: `T${round}.${entry}` });
    if (round < count) ends.push((await client.ask('snapshot.main')).body.seq ?? expect.unreachable());
  }
  await stop();
  return [...ends, (await stateOf()).last_seq];
}

test('old entries are archived; entries that the second newest snapshot does not cover stay', async () => {
  const [, second = 0] = await takeSnapshots(3);
  const before = await client.stored('STOPGATE_main', '>');
  await start({ forMs: 0, bytesMax: null, archive });
  await expect.poll(async () => (await stateOf()).first_seq).toBeGreaterThan(1);
  const files = readdirSync(archive);
  expect(files).toEqual([`main.${'1'.padStart(16, '0')}-${String(second - 1).padStart(16, '0')}.jsonl.gz`]);
  const lines = gunzipSync(readFileSync(join(archive, files[0] as string)))
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { seq: number; data: object });
  expect(lines.map(({ seq }) => seq)).toEqual(Array.from({ length: second - 1 }, (_, index) => index + 1));
  expect(lines.map(({ data }) => data)).toEqual(before.slice(0, second - 1));
  await stop();

  // The snapshots cover the removed entries, and a start continues from them.
  await start();
  expect((await client.ask('get.worker.w1')).body).toMatchObject({ toolCount: 5 });
  expect((await client.ask('decide.w1')).code).toBe('');
});

test('a trimmed log without its snapshots is lost', async () => {
  await takeSnapshots(3);
  await start({ forMs: 0, bytesMax: null, archive: null });
  await expect.poll(async () => (await stateOf()).first_seq).toBeGreaterThan(1);
  const { first_seq } = await stateOf();
  await replica?.close();
  replica = null;
  await client.manager.streams.delete('OBJ_STOPGATE-SNAPSHOTS_main');
  await expect(start()).rejects.toThrow(`entries 1 to ${first_seq - 1} are missing`);
});

test('a trimmed log with damaged snapshots is lost, too, and continues when the loss is accepted', async () => {
  await takeSnapshots(3);
  await start({ forMs: 0, bytesMax: null, archive: null });
  await expect.poll(async () => (await stateOf()).first_seq).toBeGreaterThan(1);
  await stop();
  const { first_seq } = await stateOf();
  const nc = await openConnection({ url: server.url, name: 'test', patient: false });
  const objects = await new Objm(nc).open('STOPGATE-SNAPSHOTS_main');
  for (const { name, metadata } of await objects.list())
    await objects.putBlob({ name, metadata: metadata ?? {} }, Buffer.from('damaged'));
  await nc.close();
  const lost = `entries 1 to ${first_seq - 1} are missing. Restore it, or restart with`;
  await expect(start()).rejects.toThrow(`${lost} --accept-empty-log`);
  replica = await startReplica({ nats: server.url, acceptEmptyLog: true });
  await stop();
  await start();
  expect((await client.ask('decide.w1')).code).toBe('');
});

test('a snapshot of a log that has lost entries does not count', async () => {
  const [first = 0, second = 0] = await takeSnapshots(2);
  const nc = await openConnection({ url: server.url, name: 'test', patient: false });
  const position = { seq: second + 1, atMs: 1, subject: 'stopgate.main.worker.w1.tool.used', digest: 'another' };
  await createSnapshotStore(nc, 'main').write({ fleet: 'main', rules: 1, position }, { lines: [], host: {} });
  await nc.close();
  await start({ forMs: 0, bytesMax: null, archive: null });
  await expect.poll(async () => (await stateOf()).first_seq).toBeGreaterThan(1);
  expect((await stateOf()).first_seq).toBe(first);
});

test('a damaged snapshot does not count, even if the start has not read it', async () => {
  const [, third = 0, second = 0] = await takeSnapshots(4);
  const started = await start();
  const nc = await openConnection({ url: server.url, name: 'test', patient: false });
  const objects = await new Objm(nc).open('STOPGATE-SNAPSHOTS_main');
  const name = String(second).padStart(16, '0');
  const metadata = (await objects.info(name))?.metadata ?? {};
  await objects.putBlob({ name, metadata }, Buffer.from('damaged'));
  await nc.close();
  started.setRetention({ forMs: 0, bytesMax: null, archive: null });
  await expect.poll(async () => (await stateOf()).first_seq).toBeGreaterThan(1);
  expect((await stateOf()).first_seq).toBe(third);
});

test('recent entries within the size stay, and so do those that could not be archived; above the size the oldest are removed', async () => {
  const [, second = 0] = await takeSnapshots(3);
  const started = await start({ forMs: 3_600_000, bytesMax: 1_048_576, archive });
  await started.service.probe('w1', {});
  expect((await stateOf()).first_seq).toBe(1);
  expect(readdirSync(archive)).toEqual([]);
  started.setRetention({ forMs: 0, bytesMax: null, archive: '/dev/null/archive' });
  await started.service.probe('w1', {});
  expect((await stateOf()).first_seq).toBe(1);
  const { bytes } = await stateOf();
  started.setRetention({ forMs: null, bytesMax: bytes - 500, archive: null });
  await expect.poll(async () => (await stateOf()).first_seq).toBeGreaterThan(1);
  // No more than needed.
  expect((await stateOf()).first_seq).toBeLessThan(second);
});

test('a log with fewer than two snapshots is not trimmed', async () => {
  await takeSnapshots(1);
  const started = await start({ forMs: 0, bytesMax: null, archive });
  await started.service.decide('w1', {});
  expect((await stateOf()).first_seq).toBe(1);
});
