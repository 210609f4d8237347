/** The past at an entry: which entries are read for it. Most must come from snapshots and from what was folded before. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { createFleet, type Fleet } from '../../../../machines/index.ts';
import { foldMessage } from '../../../../src/host/fold/fold-message.ts';
import { type Asker, createJobs } from '../../../../src/inspector/history/jobs.ts';
import { createPast, type Moment, type Step } from '../../../../src/inspector/history/past.ts';
import { nothingAccepted } from '../../../../src/nats/log/log-note.ts';
import type { LogMessage } from '../../../../src/nats/log/log-reader.ts';

const end = 20_000;
const data = new TextEncoder().encode('{"tool":"Bash"}');
const message = (seq: number, workers = 10): LogMessage => ({
  ...{ seq, atMs: seq * 1_000, subject: `stopgate.main.worker.w${seq % workers}.tool.used`, data },
  header: () => undefined,
});

/** Lets the log be read up to an entry only. */
function createGate() {
  let lastSeq = Number.POSITIVE_INFINITY;
  let [onReached, onOpened] = [() => {}, () => {}];
  let opened = Promise.resolve();
  return {
    /** Closes it behind `seq`. @returns resolves when somebody waits there */
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
      const seq = Math.max(...snapshots.filter((it) => it <= upTo));
      loads.push(seq);
      const fleet = createFleet('main');
      for (let at = 1; at <= seq; at += 1) foldMessage(fleet, message(at));
      return { fleet, seq };
    },
    async write({ seq }: Fleet, message: LogMessage) {
      expect(seq).toBe(message.seq);
      written.push(seq);
    },
  };
  const past = createPast({ fleet: 'main', log, snapshots: stored });
  const jobs = createJobs();
  const given = new AbortController();
  const asker: Asker = { signal: given.signal, onProgress() {} };
  const toolsIn = ({ fleet, seq, last }: Moment) => ({
    tools: [...fleet.workers.values()].reduce((sum, it) => sum + it.snapshot.context.worker.toolCount, 0),
    ...{ at: seq, entry: last?.seq ?? null },
  });
  const toolsAt = (seq: number, asking = asker) => jobs.run('past', asking, (job) => past.at(seq, job, toolsIn));
  const over = (from: number, to: number, onStep?: (step: Step) => void) =>
    jobs.run('outline', asker, (job) => past.over(from, to, job, onStep));
  /** Removes what is before `seq`. Who has just asked about the log does not know it yet. */
  const cut = (seq: number) => {
    cutTo = seq;
  };
  return { past, toolsAt, over, reads, loads, written, gate, asker, cut };
}

test('a jump forward goes on from the last one, and steps back begin a little before it', async () => {
  const { toolsAt, reads } = openPast();
  expect(await toolsAt(9_000)).toEqual({ tools: 9_000, at: 9_000, entry: 9_000 });
  expect(await toolsAt(17_000)).toEqual({ tools: 17_000, at: 17_000, entry: 17_000 });
  expect(await toolsAt(16_999)).toEqual({ tools: 16_999, at: 16_999, entry: 16_999 });
  expect(await toolsAt(9_000)).toEqual({ tools: 9_000, at: 9_000, entry: 9_000 });
  expect(await toolsAt(8_500)).toEqual({ tools: 8_500, at: 8_500, entry: 8_500 });
  expect(reads).toEqual([
    { from: 1, count: 9_000 },
    { from: 9_001, count: 8_000 },
    { from: 16_001, count: 999 },
    { from: 8_001, count: 500 },
  ]);
});

test('of a large fleet one position is kept', async () => {
  const { toolsAt, reads } = openPast({ workers: 31_000, lastSeq: 35_000 });
  for (const seq of [32_000, 32_001, 31_999]) expect((await toolsAt(seq)).tools).toBe(seq);
  expect(reads.map(({ from }) => from)).toEqual([1, 32_001, 1]);
});

test('no more positions are kept than there is room for', async () => {
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

test('where no snapshots were taken, a fold stores some on its way', async () => {
  const { toolsAt, written } = openPast({ lastSeq: 70_000 });
  await toolsAt(66_000);
  expect(written).toEqual([32_768, 65_536]);
});

test('the more actors there are to pack, the further apart they are', async () => {
  const { toolsAt, written } = openPast({ lastSeq: 70_000, workers: 20_000 });
  await toolsAt(66_000);
  expect(written).toEqual([65_536]);
});

test('none is stored near one that was taken', async () => {
  const { toolsAt, written } = openPast({ lastSeq: 100_000, snapshots: [50_000] });
  await toolsAt(40_000);
  await toolsAt(99_000);
  expect(written).toEqual([98_304]);
});

test('the first jump starts from the nearest snapshot of the service', async () => {
  const { toolsAt, reads, loads } = openPast({ snapshots: [19_000, 15_000, 6_000] });
  expect(await toolsAt(15_500)).toEqual({ tools: 15_500, at: 15_500, entry: 15_500 });
  expect(await toolsAt(6_000)).toEqual({ tools: 6_000, at: 6_000, entry: null });
  expect(reads).toEqual([{ from: 15_001, count: 500 }]);
  expect(loads).toEqual([15_000, 6_000]);
});

test('the next entry is folded on the one before, and the same again reads nothing', async () => {
  const { toolsAt, reads } = openPast();
  for (const seq of [6_000, 6_001, 6_002, 6_002]) expect((await toolsAt(seq)).tools).toBe(seq);
  expect(reads.map(({ count }) => count)).toEqual([6_000, 1, 1]);
});

test('all that is asked for at once is answered, and goes on from what was folded for others', async () => {
  // A jump that takes long gives its turn to the next, which then cannot go on from it. Here none takes long.
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { toolsAt, reads } = openPast();
  const all = await Promise.all([5_000, 5_001, 15_000, 14_000, 5_000].map((seq) => toolsAt(seq)));
  expect(all.map(({ tools }) => tools)).toEqual([5_000, 5_001, 15_000, 14_000, 5_000]);
  expect(reads.reduce((sum, { count }) => sum + count, 0)).toBe(15_000);
});

test('what was given up half-way is where the next begins', async () => {
  const past = openPast();
  const reached = past.gate.close(7_000);
  const given = new AbortController();
  const first = past.toolsAt(15_000, { ...past.asker, signal: given.signal });
  await reached;
  given.abort(new Error('given up'));
  past.gate.open();
  await expect(first).rejects.toThrow('given up');
  expect((await past.toolsAt(15_000)).tools).toBe(15_000);
  // Either it was still under way, or the next began where it had ended.
  expect(past.reads.slice(1).every(({ from }) => from > 7_000)).toBe(true);
});

test('who gives up leaves the others what they wait for', async () => {
  const past = openPast();
  const reached = past.gate.close(1_000);
  const given = new AbortController();
  const first = past.toolsAt(9_000, { ...past.asker, signal: given.signal });
  await reached;
  const second = past.toolsAt(5_000);
  given.abort(new Error('given up'));
  past.gate.open();
  await expect(first).rejects.toThrow('given up');
  expect((await second).tools).toBe(5_000);
});

test('a missing entry that a person has accepted is shown as what was before it', async () => {
  const past = openPast({ missing: 500, accepted: { toSeq: 500, beginSeq: 1 } });
  const all = await Promise.all([past.toolsAt(500), past.toolsAt(501)]);
  expect(all).toEqual([
    { tools: 499, at: 499, entry: 499 },
    { tools: 500, at: 501, entry: 501 },
  ]);
});

test('a gap that a person has accepted excuses no cut that came later', async () => {
  const past = openPast({ missing: 500, accepted: { toSeq: 15_000, beginSeq: 1 } });
  const reached = past.gate.close(3_000);
  const cut = past.toolsAt(9_000).catch((error: Error) => error.message);
  await reached;
  past.cut(5_000);
  past.gate.open();
  const why = 'the log now starts at entry 5000, and no snapshot covers what is left';
  expect(await cut).toContain(why);
  await expect(past.toolsAt(9_001)).rejects.toThrow(why);
});

test('no state is made over a missing entry', async () => {
  const past = openPast({ missing: 5_000, snapshots: [15_000] });
  expect((await past.toolsAt(4_999)).tools).toBe(4_999);
  for (const seq of [5_000, 5_001, 9_000])
    await expect(past.toolsAt(seq)).rejects.toThrow(`entry ${seq} cannot be shown: entry 5000 is missing in the log`);
  await expect(past.over(4_990, 5_010)).rejects.toThrow('entry 5000 is no longer in the log');
  expect((await past.toolsAt(15_001)).at).toBe(15_001);
});

test('what is cut after a jump is refused by the next ones', async () => {
  const past = openPast({ snapshots: [15_000] });
  expect((await past.toolsAt(9_000)).tools).toBe(9_000);
  past.cut(9_500);
  // Neither from where the jump ended, nor from the beginning; and nothing is kept of the first tries.
  for (const seq of [9_600, 14_000, 9_499, 8_500, 1, 14_001])
    await expect(past.toolsAt(seq)).rejects.toThrow(
      `entry ${seq} cannot be shown: the log now starts at entry 9500, and the first that can be shown is 15000`,
    );
  expect(await past.toolsAt(15_100)).toEqual({ tools: 15_100, at: 15_100, entry: 15_100 });
});

test('what is cut during a jump is begun again where a new snapshot covers it', async () => {
  const snapshots: number[] = [];
  const past = openPast({ snapshots });
  const reached = past.gate.close(3_000);
  const lost = past.toolsAt(9_000).catch((error: Error) => error.message);
  const covered = past.toolsAt(16_000);
  await reached;
  snapshots.push(15_000);
  past.cut(14_000);
  past.gate.open();
  expect(await lost).toContain('entry 9000 cannot be shown: the log now starts at entry 14000');
  expect(await covered).toEqual({ tools: 16_000, at: 16_000, entry: 16_000 });
});

test('a log that was emptied meanwhile ends no jump early', async () => {
  const past = openPast();
  await past.toolsAt(9_000);
  past.cut(end + 1);
  await expect(past.toolsAt(end)).rejects.toThrow('and no snapshot covers what is left');
});

test('each entry of a range is told once, whatever else is folded', async () => {
  const { over, toolsAt } = openPast();
  const seqs: number[] = [];
  const told = over(101, 200, ({ message: { seq } }) => seqs.push(seq));
  await Promise.all([told, toolsAt(150), toolsAt(300)]);
  expect(seqs).toEqual(Array.from({ length: 100 }, (_, at) => 101 + at));
});

test('entries that are not in the log are refused in words', async () => {
  await expect(openPast().toolsAt(20_001)).rejects.toThrow('there is no entry 20001 yet: the log ends at 20000');
  expect(await openPast().toolsAt(0)).toEqual({ tools: 0, at: 0, entry: null });
});

test('of a log whose beginning was cut, what a snapshot covers is shown', async () => {
  const { past, toolsAt, reads } = openPast({ firstSeq: 5_000, snapshots: [15_000, 7_000] });
  expect(await past.earliest()).toBe(7_000);
  expect(await toolsAt(7_100)).toEqual({ tools: 7_100, at: 7_100, entry: 7_100 });
  expect(reads).toEqual([{ from: 7_001, count: 100 }]);
  await expect(toolsAt(6_999)).rejects.toThrow(
    'entry 6999 cannot be shown: the log now starts at entry 5000, and the first that can be shown is 7000',
  );
  await expect(openPast({ firstSeq: 7 }).toolsAt(9)).rejects.toThrow('and no snapshot covers what is left');
  // A person has accepted that they are missing, and so does the service.
  expect((await openPast({ firstSeq: 7, accepted: { toSeq: 6, beginSeq: 7 } }).toolsAt(9)).tools).toBe(3);
});
