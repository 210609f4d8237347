/** Older snapshots, from which time travel starts. They are spread over the log. */
import { jetstream } from '@nats-io/jetstream';
import { Objm } from '@nats-io/obj';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFleet, takeSnapshot } from '../../../machines/index.ts';
import { type NatsConnection, openConnection } from '../../../src/nats/connection.ts';
import type { LogPosition } from '../../../src/nats/log/log-reader.ts';
import { createPastSnapshots, type PastSnapshots } from '../../../src/nats/snapshots/past-snapshots.ts';
import { createSnapshotStore, type SnapshotStore } from '../../../src/nats/snapshots/snapshot-store.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let nc: NatsConnection;
let past: PastSnapshots;
let store: SnapshotStore;
/** The first sequence of the log. */
let firstSeq: number;
let bad: string[];

const usual = { countMax: 5, bytesMax: 1_000_000, spacingMin: 20 };

beforeEach(async () => {
  server = await openNats();
  nc = await openConnection({ url: server.url, name: 'test', patient: false });
  firstSeq = 1;
  bad = [];
  openStores();
});
afterEach(async () => {
  await nc.close();
  await server.stop();
});

function openStores(limits = usual): void {
  const logAt = async (seq: number) => {
    if (seq < 1) throw new Error('bad request');
    return seq < firstSeq ? null : positionAt(seq);
  };
  const onBad = (name: string) => bad.push(name);
  past = createPastSnapshots(nc, { fleet: 'main', positionAt: logAt, limits, onBad });
  store = createSnapshotStore(nc, 'main', { onDrop: past.keep });
}
const positionAt = (seq: number): LogPosition => ({
  seq,
  atMs: 1_000 * seq,
  subject: 'stopgate.main.worker.w1.heartbeat.sent',
  digest: `digest ${seq}`,
});
async function write(...seqs: number[]): Promise<void> {
  const fleet = createFleet('main');
  for (const seq of seqs) {
    const snapshot = takeSnapshot(fleet);
    await store.write(
      { fleet: 'main', rules: 1, position: positionAt(seq) },
      { lines: snapshot.lines, host: { of: seq } },
    );
    snapshot.close();
  }
}
const every = (spacing: number, toSeq: number) =>
  Array.from({ length: toSeq / spacing }, (_, at) => spacing * (at + 1));
const kept = async () => (await past.list()).map(({ position }) => position.seq).sort((a, b) => a - b);

test('a snapshot that is no longer among the newest three is kept, with its content', async () => {
  await write(...every(10, 60));
  expect((await store.list()).map(({ position }) => position.seq)).toEqual([60, 50, 40]);
  expect(await kept()).toEqual([10, 20, 30]);
  const [info] = await past.list();
  expect(await past.read(info?.name as string)).toMatchObject({ head: { position: info?.position } });
});

test('they are spread evenly over the log, and all others are removed completely', async () => {
  await write(...every(10, 130));
  const seqs = await kept();
  expect(seqs).toHaveLength(5);
  expect([seqs.at(0), seqs.at(-1)]).toEqual([10, 100]);
  const gaps = seqs.slice(1).map((seq, at) => seq - (seqs[at] as number));
  expect(Math.max(...gaps)).toBeLessThanOrEqual(4 * Math.min(...gaps));
  expect(Math.max(...gaps)).toBeLessThanOrEqual(40);
  const manager = await jetstream(nc).jetstreamManager();
  expect((await manager.streams.info('OBJ_STOPGATE-PAST_main')).state.messages).toBe(10);
});

test('snapshots that a fold of the past has made are kept and removed by the same rules', async () => {
  await write(...every(10, 60));
  for (const seq of [35, 37, 39]) {
    const snapshot = takeSnapshot(createFleet('main'));
    await past.write({ fleet: 'main', rules: 1, position: positionAt(seq) }, snapshot.lines);
    snapshot.close();
  }
  expect(await kept()).toEqual([10, 20, 30, 35, 39]);
  const [info] = await past.list();
  expect(await past.read(info?.name as string)).toMatchObject({ head: { position: positionAt(39) }, host: null });
});

test('a snapshot close to its neighbours is not kept', async () => {
  await write(...every(5, 45));
  expect(await kept()).toEqual([5, 20]);
});

test('there are fewer if they take too many bytes', async () => {
  await write(...every(10, 60));
  const bytes = Math.max(...(await past.list()).map((it) => it.bytes));
  openStores({ ...usual, bytesMax: 2 * bytes });
  await write(70);
  expect(await kept()).toEqual([10, 40]);
  openStores({ ...usual, bytesMax: 10 });
  await write(80);
  expect(await kept()).toEqual([10, 40]);
});

test('those whose entry is no longer in the log are removed, and none is added', async () => {
  await write(...every(10, 60));
  firstSeq = 21;
  await write(70);
  expect(await kept()).toEqual([30, 40]);
  firstSeq = 1_000;
  await write(80);
  expect(await kept()).toEqual([30, 40]);
  firstSeq = 65;
  await write(90, 100);
  expect(await kept()).toEqual([70]);
});

test('those of another format are not used, and those of an earlier one are removed', async () => {
  await write(...every(10, 60));
  const objects = await new Objm(nc).open('STOPGATE-PAST_main');
  const rename = async (seq: number, format: string) => {
    const name = String(seq).padStart(16, '0');
    const info = await objects.info(name);
    await objects.update(name, { name, metadata: { ...info?.metadata, format } });
  };
  await rename(10, '1');
  await rename(20, '99');
  expect(await kept()).toEqual([30]);
  await write(70);
  expect(await kept()).toEqual([30, 40]);
  expect((await objects.list()).map(({ name }) => Number(name)).sort((a, b) => a - b)).toEqual([20, 30, 40]);
});

test('an object that is not a snapshot is skipped with a warning', async () => {
  await write(...every(10, 60));
  const objects = await new Objm(nc).open('STOPGATE-PAST_main');
  const put = (name: string, head: unknown) =>
    objects.putBlob({ name, metadata: { head: JSON.stringify(head), format: '2' } }, new Uint8Array(9));
  const head = { fleet: 'main', rules: 1, position: positionAt(5) };
  const positions = [{ seq: -5 }, { seq: 0 }, { seq: 1e300 }, { seq: '5' }, { digest: null }];
  for (const [at, wrong] of positions.entries())
    await put(`position-${at}`, { ...head, position: { ...head.position, ...wrong } });
  await put('fleet', { ...head, fleet: 7 });
  await put('null', null);
  const subjectOf = (name: string) => `$O.STOPGATE-PAST_main.M.${Buffer.from(name).toString('base64')}`;
  await jetstream(nc).publish(subjectOf('text'), 'no JSON');
  await jetstream(nc).publish(subjectOf('another'), JSON.stringify({ name: '10', nuid: 'x', size: 1 }));
  expect(await kept()).toEqual([10, 20, 30]);
  await write(...every(10, 130).slice(6));
  expect(await kept()).toHaveLength(5);
  expect((await kept()).at(-1)).toBe(100);
  const names = [...positions.keys()].map((at) => `position-${at}`);
  expect([...new Set(bad)].sort()).toEqual(['another', 'fleet', 'null', ...names, 'text']);
});
