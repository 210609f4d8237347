/** The past at an entry: which entries are read. Most must come from snapshots and earlier folds. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { createFleet, type Fleet } from '../../../../machines/index.ts';
import { foldMessage } from '../../../../src/host/fold/fold-message.ts';
import { type Asker, createJobs } from '../../../../src/inspector/history/jobs.ts';
import { createPast, type Moment, type Step } from '../../../../src/inspector/history/past.ts';
import { nothingAccepted } from '../../../../src/nats/log/log-note.ts';
import type { LogMessage } from '../../../../src/nats/log/log-reader.ts';

const end = 2_000;
/** Smaller than in production, so that short logs suffice. */
const sizes = { stepsBack: 100, actorsMax: 2_000, spacingMin: 1_024 };
const data = new TextEncoder().encode('{"tool":"Bash"}');
const message = (seq: number, workers = 10): LogMessage => ({
  seq,
  atMs: seq * 1_000,
  subject: `stopgate.main.worker.w${seq % workers}.tool.used`,
  data,
  header: () => undefined,
});

/** Blocks reading of the log at an entry. */
function createGate() {
  let lastSeq = Number.POSITIVE_INFINITY;
  let [onReached, onOpened] = [() => {}, () => {}];
  let opened = Promise.resolve();
  return {
    /** Blocks after `seq`. @returns resolves when a reader waits there */
    close(seq: number) {
      lastSeq = seq;
      opened = new Promise((resolve) => (onOpened = resolve));
      return new Promise<void>((resolve) => (onReached = resolve));
    },
    open() {
      lastSeq = Number.POSITIVE_INFINITY;
      onOpened();
    },
    async pass(seq: number) {
      if (seq <= lastSeq) return;
      onReached();
      await opened;
    },
  };
}

type Log = Parameters<typeof createPast>[0]['log'];
type OpenOptions = {
  firstSeq?: number;
  lastSeq?: number;
  accepted?: Log['accepted'];
  snapshots?: readonly number[];
  missing?: number;
  workers?: number;
};

function openPast(options: OpenOptions = {}) {
  const { firstSeq = 1, lastSeq = end, accepted = nothingAccepted, snapshots = [], missing, workers } = options;
  let cutTo = firstSeq;
  const reads: { from: number; count: number }[] = [];
  const loads: number[] = [];
  const written: number[] = [];
  const gate = createGate();
  const log: Log = {
    accepted,
    range: async () => ({ firstSeq: cutTo, lastSeq, firstMs: 0, lastMs: 0 }),
    async history({ fromSeq, toSeq }, onMessage) {
      const read = { from: fromSeq, count: 0 };
      reads.push(read);
      for (let seq = Math.max(fromSeq, cutTo); seq <= toSeq; seq += 1) {
        await gate.pass(seq);
        if (seq === missing || seq < cutTo) continue;
        read.count += 1;
        await onMessage(message(seq, workers));
      }
    },
  };
  const stored = {
    seqs: async () => snapshots,
    async load(upTo: number) {
      const seq = Math.max(...snapshots.filter((snapshot) => snapshot <= upTo));
      loads.push(seq);
      const fleet = createFleet('main');
      for (let index = 1; index <= seq; index += 1) foldMessage(fleet, message(index));
      return { fleet, seq };
    },
    async write({ seq }: Fleet, message: LogMessage) {
      expect(seq).toBe(message.seq);
      written.push(seq);
    },
  };
  const past = createPast({ fleet: 'main', log, snapshots: stored, sizes });
  const jobs = createJobs();
  const given = new AbortController();
  const asker: Asker = { signal: given.signal, onProgress() {} };
  const toolsIn = ({ fleet, seq, last }: Moment) => ({
    tools: [...fleet.workers.values()].reduce((sum, worker) => sum + worker.snapshot.context.worker.toolCount, 0),
    at: seq,
    entry: last?.seq ?? null,
  });
  const toolsAt = (seq: number, asking = asker) => jobs.run('past', asking, (job) => past.at(seq, job, toolsIn));
  const over = (from: number, to: number, onStep?: (step: Step) => void) =>
    jobs.run('outline', asker, (job) => past.foldRange(from, to, job, onStep));
  /** Removes entries before `seq`. The cached range of the log does not show it yet. */
  const cut = (seq: number) => {
    cutTo = seq;
  };
  return { past, toolsAt, over, reads, loads, written, gate, asker, cut };
}

test('a jump forward continues from the last one, and steps back start shortly before it', async () => {
  const { toolsAt, reads } = openPast();
  expect(await toolsAt(900)).toEqual({ tools: 900, at: 900, entry: 900 });
  expect(await toolsAt(1_700)).toEqual({ tools: 1_700, at: 1_700, entry: 1_700 });
  expect(await toolsAt(1_699)).toEqual({ tools: 1_699, at: 1_699, entry: 1_699 });
  expect(await toolsAt(900)).toEqual({ tools: 900, at: 900, entry: 900 });
  expect(await toolsAt(850)).toEqual({ tools: 850, at: 850, entry: 850 });
  expect(reads).toEqual([
    { from: 1, count: 900 },
    { from: 901, count: 800 },
    { from: 1_601, count: 99 },
    { from: 801, count: 50 },
  ]);
});

test('keeps one position of a large fleet', async () => {
  const { toolsAt, reads } = openPast({ workers: 1_000 });
  for (const seq of [1_100, 1_101, 1_099]) expect((await toolsAt(seq)).tools).toBe(seq);
  expect(reads.map(({ from }) => from)).toEqual([1, 1_101, 1]);
});

test('keeps a bounded number of positions', async () => {
  const { toolsAt, reads } = openPast();
  for (let seq = 100; seq <= 2_000; seq += 100) await toolsAt(seq);
  reads.length = 0;
  await toolsAt(450);
  await toolsAt(550);
  expect(reads).toEqual([
    { from: 1, count: 450 },
    { from: 451, count: 100 },
  ]);
});

test('a fold stores snapshots where there are none', async () => {
  const { toolsAt, written } = openPast({ lastSeq: 2_200 });
  await toolsAt(2_060);
  expect(written).toEqual([1_024, 2_048]);
});

test('spaces snapshots further apart the more actors there are', async () => {
  const { toolsAt, written } = openPast({ lastSeq: 2_200, workers: 600 });
  await toolsAt(2_060);
  expect(written).toEqual([2_048]);
});

test('stores no snapshot near an existing one', async () => {
  const { toolsAt, written } = openPast({ lastSeq: 3_125, snapshots: [1_562] });
  await toolsAt(1_250);
  await toolsAt(3_100);
  expect(written).toEqual([3_072]);
});

test('the first jump starts from the nearest snapshot of the service', async () => {
  const { toolsAt, reads, loads } = openPast({ snapshots: [1_900, 1_500, 600] });
  expect(await toolsAt(1_550)).toEqual({ tools: 1_550, at: 1_550, entry: 1_550 });
  expect(await toolsAt(600)).toEqual({ tools: 600, at: 600, entry: null });
  expect(reads).toEqual([{ from: 1_501, count: 50 }]);
  expect(loads).toEqual([1_500, 600]);
});

test('the next entry continues from the previous one, and the same entry again reads nothing', async () => {
  const { toolsAt, reads } = openPast();
  for (const seq of [600, 601, 602, 602]) expect((await toolsAt(seq)).tools).toBe(seq);
  expect(reads.map(({ count }) => count)).toEqual([600, 1, 1]);
});

test("concurrent requests are all answered, and continue from each other's folds", async () => {
  // A long jump yields to the next, which cannot continue from it. Here none is long.
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { toolsAt, reads } = openPast();
  const all = await Promise.all([500, 501, 1_500, 1_400, 500].map((seq) => toolsAt(seq)));
  expect(all.map(({ tools }) => tools)).toEqual([500, 501, 1_500, 1_400, 500]);
  expect(reads.reduce((sum, { count }) => sum + count, 0)).toBe(1_500);
});

test('the next jump continues where an aborted one stopped', async () => {
  const past = openPast();
  const reached = past.gate.close(700);
  const given = new AbortController();
  const first = past.toolsAt(1_500, { ...past.asker, signal: given.signal });
  await reached;
  given.abort(new Error('given up'));
  past.gate.open();
  await expect(first).rejects.toThrow('given up');
  expect((await past.toolsAt(1_500)).tools).toBe(1_500);
  // Either it was still running, or the next one started where it had ended.
  expect(past.reads.slice(1).every(({ from }) => from > 700)).toBe(true);
});

test('an aborted request does not affect others', async () => {
  const past = openPast();
  const reached = past.gate.close(100);
  const given = new AbortController();
  const first = past.toolsAt(900, { ...past.asker, signal: given.signal });
  await reached;
  const second = past.toolsAt(500);
  given.abort(new Error('given up'));
  past.gate.open();
  await expect(first).rejects.toThrow('given up');
  expect((await second).tools).toBe(500);
});

test('a missing entry that a person has accepted shows the state before it', async () => {
  const past = openPast({ missing: 500, accepted: { toSeq: 500, beginSeq: 1 } });
  const all = await Promise.all([past.toolsAt(500), past.toolsAt(501)]);
  expect(all).toEqual([
    { tools: 499, at: 499, entry: 499 },
    { tools: 500, at: 501, entry: 501 },
  ]);
});

test('an accepted gap does not excuse a later truncation', async () => {
  const past = openPast({ missing: 50, accepted: { toSeq: 1_500, beginSeq: 1 } });
  const reached = past.gate.close(300);
  const cut = past.toolsAt(900).catch((error: Error) => error.message);
  await reached;
  past.cut(500);
  past.gate.open();
  const why = 'the log now starts at entry 500, and no snapshot covers the rest';
  expect(await cut).toContain(why);
  await expect(past.toolsAt(901)).rejects.toThrow(why);
});

test('never folds across a missing entry', async () => {
  const past = openPast({ missing: 500, snapshots: [1_500] });
  expect((await past.toolsAt(499)).tools).toBe(499);
  for (const seq of [500, 501, 900])
    await expect(past.toolsAt(seq)).rejects.toThrow(`entry ${seq} cannot be shown: entry 500 is missing in the log`);
  await expect(past.over(499, 501)).rejects.toThrow('entry 500 is no longer in the log');
  expect((await past.toolsAt(1_501)).at).toBe(1_501);
});

test('entries truncated after a jump are refused by later jumps', async () => {
  const past = openPast({ snapshots: [1_500] });
  expect((await past.toolsAt(900)).tools).toBe(900);
  past.cut(950);
  // Neither from the end of the jump nor from the beginning; failed tries leave nothing behind.
  for (const seq of [960, 1_400, 949, 850, 1, 1_401])
    await expect(past.toolsAt(seq)).rejects.toThrow(
      `entry ${seq} cannot be shown: the log now starts at entry 950, and the first that can be shown is 1500`,
    );
  expect(await past.toolsAt(1_510)).toEqual({ tools: 1_510, at: 1_510, entry: 1_510 });
});

test('a jump during a truncation restarts from a newer snapshot', async () => {
  const snapshots: number[] = [];
  const past = openPast({ snapshots });
  const reached = past.gate.close(300);
  const lost = past.toolsAt(900).catch((error: Error) => error.message);
  const covered = past.toolsAt(1_600);
  await reached;
  snapshots.push(1_500);
  past.cut(1_400);
  past.gate.open();
  expect(await lost).toContain('entry 900 cannot be shown: the log now starts at entry 1400');
  expect(await covered).toEqual({ tools: 1_600, at: 1_600, entry: 1_600 });
});

test('a log that was emptied during a jump does not end it early', async () => {
  const past = openPast();
  await past.toolsAt(900);
  past.cut(end + 1);
  await expect(past.toolsAt(end)).rejects.toThrow('and no snapshot covers the rest');
});

test('reports each entry of a range once, whatever else is folded', async () => {
  const { over, toolsAt } = openPast();
  const seqs: number[] = [];
  const folded = over(101, 200, ({ message: { seq } }) => seqs.push(seq));
  await Promise.all([folded, toolsAt(150), toolsAt(300)]);
  expect(seqs).toEqual(Array.from({ length: 100 }, (_, index) => 101 + index));
});

test('refuses entries that are not in the log with a message', async () => {
  await expect(openPast().toolsAt(2_001)).rejects.toThrow('there is no entry 2001 yet: the log ends at 2000');
  expect(await openPast().toolsAt(0)).toEqual({ tools: 0, at: 0, entry: null });
});

test('shows the part of a truncated log that a snapshot covers', async () => {
  const { past, toolsAt, reads } = openPast({ firstSeq: 500, snapshots: [1_500, 700] });
  expect(await past.earliest()).toBe(700);
  expect(await toolsAt(710)).toEqual({ tools: 710, at: 710, entry: 710 });
  expect(reads).toEqual([{ from: 701, count: 10 }]);
  await expect(toolsAt(699)).rejects.toThrow(
    'entry 699 cannot be shown: the log now starts at entry 500, and the first that can be shown is 700',
  );
  await expect(openPast({ firstSeq: 7 }).toolsAt(9)).rejects.toThrow('and no snapshot covers the rest');
  // A person has accepted the gap, so the service accepts it too.
  expect((await openPast({ firstSeq: 7, accepted: { toSeq: 6, beginSeq: 7 } }).toolsAt(9)).tools).toBe(3);
});
