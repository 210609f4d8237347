/**
 * Snapshots in the object store are written, kept, pruned and read back. A fold begins at the newest that fits
 * (protocol.md §15).
 */
import { createHash, randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Objm } from '@nats-io/obj';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createFleet,
  type Fleet,
  foldEntry,
  readEntry,
  snapshotFormat,
  takeSnapshot,
} from '../../../machines/index.ts';
import { AppError } from '../../../src/errors.ts';
import { createLogger } from '../../../src/log.ts';
import { type NatsConnection, openConnection } from '../../../src/nats/connection.ts';
import { readPosition } from '../../../src/nats/log/log-continuity.ts';
import type { LogPosition } from '../../../src/nats/log/log-reader.ts';
import { type FoldStart, findStart, fittingSnapshots } from '../../../src/nats/snapshots/find-start.ts';
import { createSnapshotStore, type SnapshotStore } from '../../../src/nats/snapshots/snapshot-store.ts';
import { createSnapshots } from '../../../src/nats/snapshots/snapshots.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { bothVersions } from '../../support/second-rules.ts';
import { openNats } from '../../support/shared-server.ts';
import { snapshotText } from '../../support/snapshot-text.ts';

let server: NatsServer;
let nc: NatsConnection;
let store: SnapshotStore;

beforeEach(async () => {
  server = await openNats();
  nc = await openConnection({ url: server.url, name: 'test', patient: false });
  store = createSnapshotStore(nc, 'main');
});
afterEach(async () => {
  await nc.close();
  await server.stop();
});

function fold(fleet: Fleet, tail: string, data: object = {}): Fleet {
  const text = JSON.stringify(data);
  const entry = readEntry(`stopgate.main.${tail}`, text, text.length);
  if (entry === null || !('data' in entry)) throw new Error(tail);
  foldEntry(fleet, { seq: fleet.seq + 1, atMs: 1_000 * (fleet.seq + 1), entry });
  return fleet;
}
/** Returns a position in a log that has one entry per second. */
const positionAt = (seq: number): LogPosition => ({
  seq,
  atMs: 1_000 * seq,
  subject: 'stopgate.main.worker.w1.heartbeat.sent',
  digest: `digest ${seq}`,
});
async function write(fleet: Fleet, position = positionAt(fleet.seq), name = 'main'): Promise<void> {
  const snapshot = takeSnapshot(fleet);
  const head = { fleet: name, rules: fleet.rules.version, position };
  await store.write(head, { lines: snapshot.lines, host: { of: position.seq } });
  snapshot.close();
}
const fleetOf = (entries: number): Fleet => {
  const fleet = createFleet('main');
  for (let count = 0; count < entries; count += 1) fold(fleet, `worker.w${count}.heartbeat.sent`);
  return fleet;
};

/** Opens a log that begins at entry 2. */
const isCut = { positionAt: async (seq: number) => (seq === 1 ? null : positionAt(seq)) };
const warnings: object[] = [];
const start = (options: object = {}): Promise<FoldStart | null> => {
  warnings.length = 0;
  const logger = { warn: (line: object) => void warnings.push(line) } as never;
  return findStart({ fleet: 'main', store, positionAt: async (seq) => positionAt(seq), logger, ...options });
};

test('there is no snapshot before the first was written', async () => {
  expect(await store.list()).toEqual([]);
  expect(await start()).toBeNull();
  expect(warnings).toEqual([]);
});

test('a snapshot is read back unchanged, also from several messages', async () => {
  const fleet = createFleet('main');
  for (let count = 0; count < 40; count += 1)
    fold(fleet, `worker.w${count}.plan.updated`, { steps: [{ title: randomBytes(900).toString('hex'), status: 'ü' }] });
  await write(fleet);
  const found = (await start()) as FoldStart;
  expect(found).toMatchObject({ position: positionAt(40), host: { of: 40 } });
  expect(snapshotText(found.fleet)).toBe(snapshotText(fleet));
});

test('the newest three are kept, and others are removed completely', async () => {
  for (const entries of [1, 2, 3, 4, 5]) await write(fleetOf(entries));
  expect((await store.list()).map(({ position }) => position.seq)).toEqual([5, 4, 3]);
  const manager = await jetstream(nc).jetstreamManager();
  const { state } = await manager.streams.info('OBJ_STOPGATE-SNAPSHOTS_main');
  expect(state.messages).toBe(6);
});

test('snapshots of lost entries do not displace those of entries that the log still has', async () => {
  // Entries 20 and 30 are gone. The fold began at 10, which was stored first.
  const isGone = (seq: number) => seq === 20 || seq === 30;
  store = createSnapshotStore(nc, 'main', { isOfLog: async ({ position }) => !isGone(position.seq) });
  for (const entries of [10, 20, 30, 15, 16]) await write(fleetOf(entries));
  expect((await store.list()).map(({ position }) => position.seq)).toEqual([16, 15, 30, 20, 10]);
  await write(fleetOf(17));
  expect((await store.list()).map(({ position }) => position.seq)).toEqual([17, 16, 15, 30, 20]);
});

test('leftovers of an interrupted write are removed by the next snapshot after a while', async () => {
  await write(fleetOf(1));
  const js = jetstream(nc);
  for (const part of ['one', 'two']) await js.publish('$O.STOPGATE-SNAPSHOTS_main.C.CUTOFF', part);
  const subjects = async () => {
    const manager = await js.jetstreamManager();
    const { state } = await manager.streams.info('OBJ_STOPGATE-SNAPSHOTS_main', { subjects_filter: '$O.*.C.*' });
    return Object.keys(state.subjects ?? {});
  };
  await write(fleetOf(2)); // the write may still be running
  expect(await subjects()).toHaveLength(3);
  store = createSnapshotStore(nc, 'main', { silentMs: 0 });
  await write(fleetOf(3));
  expect(await subjects()).toHaveLength(3);
  expect(await subjects()).not.toContain('$O.STOPGATE-SNAPSHOTS_main.C.CUTOFF');
  for (const { name } of await store.list()) await store.read(name);
});

test('the list of snapshots comes from the leader of the stream, not from a consumer on a lagging node', async () => {
  await write(fleetOf(1));
  const asked: string[] = [];
  const listening = nc.subscribe('$JS.API.>', { callback: (_error, { subject }) => void asked.push(subject) });
  await nc.flush();
  expect(await store.list()).toHaveLength(1);
  await nc.flush();
  listening.unsubscribe();
  expect(asked.some((it) => it.startsWith('$JS.API.STREAM.INFO.'))).toBe(true);
  expect(asked.filter((it) => it.includes('CONSUMER'))).toEqual([]);
});

test('a deleted snapshot is not listed', async () => {
  for (const entries of [1, 2]) await write(fleetOf(entries));
  const [newest] = await store.list();
  await (await new Objm(nc).open('STOPGATE-SNAPSHOTS_main')).delete(newest?.name as string);
  expect((await store.list()).map(({ position }) => position.seq)).toEqual([1]);
});

test('a new log has its own snapshots, although its sequences start at 1 again', async () => {
  for (const entries of [7, 8, 9]) await write(fleetOf(entries));
  await write(fleetOf(2));
  expect((await store.list()).map(({ position }) => position.seq)).toEqual([2, 9, 8]);
});

describe('a start skips', () => {
  const passedOver = async (why: string | RegExp, options: object = {}) => {
    expect((await start(options))?.position.seq).toBe(1);
    expect(warnings).toMatchObject([{ seq: 2, why: expect.stringMatching(why) }]);
  };

  test('a snapshot of another entry', async () => {
    await write(fleetOf(1));
    await write(fleetOf(2), { ...positionAt(2), digest: 'another' });
    await passedOver('entry 2 of the log is a different one');
  });

  test('a snapshot that is newer than the log', async () => {
    await write(fleetOf(1));
    await write(fleetOf(2));
    await passedOver('the log has no entry 2', {
      positionAt: async (seq: number) => (seq > 1 ? null : positionAt(seq)),
    });
  });

  test('a snapshot with rules that this release does not know', async () => {
    await write(fleetOf(1));
    const fleet = createFleet('main', { rules: bothVersions });
    fold(fleet, 'own.fleet.main.rules.set', { version: 2 });
    await write(fold(fleet, 'worker.w1.heartbeat.sent'));
    await passedOver('needs version 2 of the rules');
    expect((await start({ rules: bothVersions }))?.position.seq).toBe(2);
  });

  test.each([
    ['cut short', (bytes: Buffer) => bytes.subarray(0, -20), /unexpected end/],
    ['no snapshot', () => Buffer.from('hello'), /incorrect header/],
  ])('a snapshot that is %s', async (_name, damage, why) => {
    await write(fleetOf(1));
    await write(fleetOf(2));
    const objects = await new Objm(nc).open('STOPGATE-SNAPSHOTS_main');
    const name = (await store.list())[0]?.name as string;
    const info = await objects.info(name);
    const bytes = Buffer.from((await objects.getBlob(name)) as Uint8Array);
    await objects.putBlob({ name, metadata: info?.metadata ?? {} }, damage(bytes));
    await passedOver(why);
  });

  /** Replaces the newest snapshot as anyone with write access to the bucket can: with a valid digest. */
  const forge = async (change: (text: string) => string) => {
    await write(fleetOf(1));
    await write(fleetOf(2));
    const objects = await new Objm(nc).open('STOPGATE-SNAPSHOTS_main');
    const [newest] = await store.list();
    const name = newest?.name as string;
    const text = gunzipSync((await objects.getBlob(name)) as Uint8Array).toString();
    const body = change(text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1));
    const digest = createHash('sha256').update(body).digest('hex');
    const metadata = (await objects.info(name))?.metadata ?? {};
    await objects.putBlob({ name, metadata }, gzipSync(`${body}${JSON.stringify(['sha256', digest])}\n`));
  };

  test.each<[string, (text: string) => string, RegExp]>([
    ['of another fleet', (text) => text.replace('"fleet":"main"', '"fleet":"other"'), /does not match its metadata/],
    ['of a later entry', (text) => text.replace('"seq":2', '"seq":3'), /does not match its metadata/],
    ['without a head', (text) => text.replace(/,\{.*/, ',null]'), /expected object/],
    ['with a head that is too deep', (text) => text.replace(/,\{.*/, `,${'['.repeat(100_000)}`), /./],
    ['with a part of no name', (text) => `${text}["__proto__","x",{}]\n`, /unknown part '__proto__'/],
    ['with a line without end', (text) => `${text}${'x'.repeat(5_000_000)}\n`, /JSON/],
    [
      'of a later format',
      (text) => text.replace(/^\["stopgate-snapshot-\d+/, '["stopgate-snapshot-99'),
      /its format is stopgate-snapshot-99/,
    ],
  ])('a snapshot %s, although its digest is right', async (_name, change, why) => {
    await forge(change);
    await passedOver(why);
    expect(({} as { fleet?: string }).fleet).toBeUndefined();
  });

  test('a small snapshot that is too large when uncompressed', async () => {
    await forge((text) => `${text}${'x'.repeat(2_000_000)}\n`);
    store = createSnapshotStore(nc, 'main', { bytesMax: 1_000_000 });
    await passedOver(/larger than 1000000 bytes/i);
  });

  test('a snapshot with a flipped bit', async () => {
    await write(fleetOf(1));
    await write(fleetOf(2));
    const objects = await new Objm(nc).open('STOPGATE-SNAPSHOTS_main');
    const name = (await store.list())[0]?.name as string;
    const metadata = (await objects.info(name))?.metadata ?? {};
    const bytes = Buffer.from((await objects.getBlob(name)) as Uint8Array);
    const middle = bytes.length >> 1;
    bytes[middle] = (bytes[middle] ?? 0) ^ 4;
    await objects.putBlob({ name, metadata }, bytes);
    await passedOver(/./);
  });

  test('a snapshot with a wrong digest, and one under another name', async () => {
    await write(fleetOf(1));
    await write(fleetOf(2));
    const objects = await new Objm(nc).open('STOPGATE-SNAPSHOTS_main');
    const [newest, oldest] = await store.list();
    const text = gunzipSync((await objects.getBlob(newest?.name as string)) as Uint8Array).toString();
    const metadata = { head: JSON.stringify(newest) };
    await objects.putBlob({ name: newest?.name as string, metadata }, gzipSync(text.replace('"active"', '"stale"')));
    await passedOver('its digest does not match');
    const other = (await objects.getBlob(oldest?.name as string)) as Uint8Array;
    await objects.putBlob({ name: newest?.name as string, metadata }, other);
    await passedOver('its content does not match its metadata');
  });
});

test('a snapshot with missing chunks is damaged; one that cannot be read now may be read later', async () => {
  await write(fleetOf(2));
  const [info] = await store.list();
  const damaged: string[] = [];
  const onDamaged = (name: string) => void damaged.push(name);
  const closed = await openConnection({ url: server.url, name: 'test', patient: false });
  await closed.close();
  const silent = { ...store, read: createSnapshotStore(closed, 'main').read };
  await expect(silent.read(info?.name as string)).rejects.toMatchObject({ code: 'log.unavailable' });
  expect(await start({ store: silent, onDamaged })).toBeNull();
  // A trimmed log needs its snapshot, so the start waits for it.
  await expect(start({ store: silent, onDamaged, ...isCut })).rejects.toMatchObject({ code: 'log.unavailable' });
  expect(damaged).toEqual([]);
  const manager = await jetstreamManager(nc);
  await manager.streams.purge('OBJ_STOPGATE-SNAPSHOTS_main', { filter: '$O.STOPGATE-SNAPSHOTS_main.C.*' });
  expect(await start({ onDamaged })).toBeNull();
  expect(warnings).toMatchObject([{ seq: 2, why: 'some of its chunks are missing' }]);
  expect(damaged).toEqual([info?.name]);
  expect(await start(isCut)).toBeNull();
});

test('a trimmed log that needs later rules is not read with an older snapshot that cannot be read now', async () => {
  await write(fleetOf(1));
  const fleet = createFleet('main', { rules: bothVersions });
  fold(fleet, 'own.fleet.main.rules.set', { version: 2 });
  await write(fold(fleet, 'worker.w1.heartbeat.sent'));
  const [, older] = await store.list();
  const lagging: Pick<SnapshotStore, 'list' | 'read'> = {
    list: store.list,
    read: async (name) => {
      if (name !== older?.name) return store.read(name);
      throw new AppError('log.unavailable', 'a NATS node lags');
    },
  };
  await expect(start({ store: lagging, ...isCut })).rejects.toMatchObject({ code: 'rules.unknown' });
});

test('a snapshot of a later format is not damaged, but only the later release can start a trimmed log from it', async () => {
  const fleet = fold(fold(createFleet('main'), 'worker.w1.heartbeat.sent'), 'worker.w1.heartbeat.sent');
  await write(fleet);
  const objects = await new Objm(nc).open('STOPGATE-SNAPSHOTS_main');
  const { name } = (await store.list())[0] as { name: string };
  const metadata = { ...(await objects.info(name))?.metadata, format: String(snapshotFormat + 1) };
  await objects.putBlob({ name, metadata }, Buffer.from('of another form'));
  const damaged: string[] = [];
  const onDamaged = (name: string) => void damaged.push(name);
  expect(await start({ onDamaged })).toBeNull();
  expect(warnings).toMatchObject([{ seq: 2, why: expect.stringMatching(/install the release that wrote it/) }]);
  await expect(start({ onDamaged, ...isCut })).rejects.toMatchObject({ code: 'rules.unknown' });
  expect(damaged).toEqual([]);
});

test('the newest snapshots that fit the log are checked first, and only as many as are needed', async () => {
  for (const entries of [1, 2, 3]) await write(fleetOf(entries));
  const asked: number[] = [];
  const fitting = fittingSnapshots({
    store,
    async positionAt(seq) {
      asked.push(seq);
      return seq === 3 ? null : positionAt(seq);
    },
  });
  expect((await fitting.next()).value?.position.seq).toBe(2);
  expect(asked).toEqual([3, 2]);
});

describe('how far snapshots cover the log', () => {
  const openLog = async (entries: number) => {
    const manager = await jetstreamManager(nc);
    await manager.streams.add({ name: 'STOPGATE_main', subjects: ['stopgate.main.worker.>'] });
    for (let count = 0; count < entries; count += 1)
      await jetstream(nc).publish('stopgate.main.worker.w1.heartbeat.sent', '{}');
    return async (seq: number) => (await readPosition(manager, 'STOPGATE_main', seq)) as LogPosition;
  };
  const openSnapshots = () => createSnapshots(nc, 'main', createLogger('silent'));

  test('is read again if the known snapshots cover too little', async () => {
    const positionAt = await openLog(2);
    const snapshots = openSnapshots();
    await write(fleetOf(1), await positionAt(1));
    expect(await snapshots.coveredTo(0)).toBe(1);
    await write(fleetOf(2), await positionAt(2));
    expect(await snapshots.coveredTo(2)).toBe(2);
  });

  test('is also known to time travel while the store of older snapshots does not answer', async () => {
    const positionAt = await openLog(2);
    await write(fleetOf(2), await positionAt(2));
    const request: NatsConnection['request'] = (subject, ...rest) =>
      subject.includes('STOPGATE-PAST') ? Promise.reject(new Error('no answer')) : nc.request(subject, ...rest);
    const halfSilent = new Proxy(nc, {
      get(target, key) {
        const value: unknown = key === 'request' ? request : Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const { past } = createSnapshots(halfSilent, 'main', createLogger('silent'));
    expect((await past.positions()).map(({ seq }) => seq)).toEqual([2]);
    expect((await past.load(2))?.position.seq).toBe(2);
  });

  test('is unknown, not zero, if the log does not answer', async () => {
    await write(fleetOf(1));
    await expect(openSnapshots().coveredTo(1)).rejects.toMatchObject({ code: 'log.unavailable' });
  });
});

test('a fold of a trimmed log waits until its snapshots can be read', async () => {
  const broken = { ...store, list: () => Promise.reject(new Error('no answer')) };
  await expect(start({ store: broken, ...isCut })).rejects.toMatchObject({ code: 'log.unavailable' });
});

test('an unreadable store only costs the time of a complete fold', async () => {
  await write(fleetOf(1));
  const broken = { ...store, list: () => Promise.reject(new Error('no answer')) };
  expect(await start({ store: broken })).toBeNull();
  expect(warnings).toHaveLength(1);
});
