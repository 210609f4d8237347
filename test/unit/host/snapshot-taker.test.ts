/** When a snapshot is due. */
import { beforeEach, expect, test, vi } from 'vitest';
import { createFleet, type Entry, foldEntry, readEntry } from '../../../machines/index.ts';
import {
  createSnapshotTaker,
  type HostStateParts,
  type SnapshotsOptions,
} from '../../../src/host/maintenance/snapshot-taker.ts';

let seq: number;
let nowMs: number;
let writeMs: number;
let taken: number[];
let fold: (entries: number, bytesEach?: number) => Promise<void>;
let close: () => Promise<void>;
let isFailing: boolean;
let warn: ReturnType<typeof vi.fn>;

beforeEach(async () => {
  [seq, nowMs, writeMs, taken] = [0, 0, 0, []];
  isFailing = false;
  warn = vi.fn();
  const fleet = createFleet('main');
  const joined = JSON.stringify({ replica: 'r1' });
  const entry = readEntry('stopgate.main.own.fleet.main.replica.joined', joined, joined.length) as Entry;
  foldEntry(fleet, { seq: 1, atMs: 0, entry, owner: null });
  const position = () => ({ seq, atMs: nowMs, digest: '' });
  const places: { position: ReturnType<typeof position> }[] = [];
  const stopwatch = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const snapshotStore = {
    list: async () => places,
    async write() {
      if (isFailing) throw new Error('another replica dropped it');
      taken.push(seq);
      places.unshift({ position: position() });
      nowMs += writeMs;
      return { bytes: 1 };
    },
  };
  const captured = { capture: () => [], owedFrom: () => null, run: async () => undefined };
  const options = {
    fleet,
    replica: 'r1',
    lifecycle: { phase: 'head' },
    snapshotStore,
    replyInboxes: captured,
    progress: {
      position,
      get seq() {
        return seq;
      },
    },
    logClock: { now: () => nowMs },
    clock: () => nowMs,
    bus: { isConnected: () => true },
    logger: { info: vi.fn(), warn },
  };
  const parts = { outbox: captured, policies: captured, deadLetters: captured, retention: captured };
  const snapshots = createSnapshotTaker(options as unknown as SnapshotsOptions, parts as unknown as HostStateParts);
  snapshots.open();
  close = snapshots.close;
  fold = async (entries, bytesEach = 100) => {
    for (let count = 0; count < entries; count += 1) {
      seq += 1;
      snapshots.onFolded(seq, bytesEach);
      if (seq % 1_000 === 0) await new Promise((done) => setImmediate(done));
    }
  };
  return async () => {
    stopwatch.mockRestore();
    await snapshots.close();
  };
});

test('every 10,000 entries, as long as they take a twentieth of the time', async () => {
  await fold(30_000);
  expect(taken).toEqual([10_000, 20_000, 30_000]);
});

test('if the last one at a stop fails, the log says why in a sentence, without a stack trace', async () => {
  await fold(1_000);
  isFailing = true;
  await close();
  expect(warn.mock.calls).toEqual([
    [
      { why: 'the snapshot was not stored: another replica dropped it' },
      'no last snapshot was taken; the next start folds more entries',
    ],
  ]);
});

test('sooner if entries are large, because a start reads them all', async () => {
  await fold(2_000, 10_000);
  expect(taken).toEqual([2_000]);
});

test('after a slow snapshot, a pause of twenty times its duration or 50,000 entries', async () => {
  writeMs = 500;
  await fold(59_000);
  expect(taken).toEqual([10_000]);
  await fold(1_000);
  expect(taken).toEqual([10_000, 60_000]);
  nowMs += 9_000;
  await fold(20_000);
  expect(taken).toEqual([10_000, 60_000]);
  nowMs += 1_000;
  await fold(1_000);
  expect(taken).toEqual([10_000, 60_000, 81_000]);
});

test('after five minutes with at least a thousand new entries', async () => {
  await fold(10_000);
  nowMs += 299_000;
  await fold(1_000);
  expect(taken).toEqual([10_000]);
  nowMs += 1_000;
  await fold(1_000);
  expect(taken).toEqual([10_000, 12_000]);
});
