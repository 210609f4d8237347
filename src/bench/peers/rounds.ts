/** Measures all peers in turn, round by round, so that other load on the machine affects all of them alike. */
import type { Cpu, Peer } from './peer.ts';

/** Of one peer, of all rounds so far. Times in ms, rates a second, CPU in microseconds a stop. */
export type Measured = {
  readonly report: number[];
  readonly stop: number[];
  /** Stops, 64 at once, over many workers; on one; and with a tool event before each. */
  readonly rate: number[];
  readonly rateOne: number[];
  readonly rateLoop: number[];
  readonly service: number[];
  readonly store: number[];
};

export const nothingMeasured = (): Measured => ({
  ...{ report: [], stop: [], rate: [], rateOne: [], rateLoop: [], service: [], store: [] },
});

export const atOnce = 64;
export const workersCount = 1_000;
/** One at a time, until either is reached: a shell takes 100 times as long as the floor. */
const samples = 150;
const samplesMs = 1_000;
const rateMs = 600;
const warmUpMs = 2_000;
/** What the last call leaves to do, which counts as its own. */
const restMs = 25;

const worker = (index: number) => `w${index % workersCount}`;
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Makes the workers known and the code warm. */
export async function warmUp(peer: Peer): Promise<void> {
  let next = 0;
  await repeat(warmUpMs, workersCount, async () => {
    next += 1;
    await peer.report(worker(next));
    await peer.stop(worker(next));
  });
}

export async function measureRound(peer: Peer, measured: Measured): Promise<void> {
  await sampleOne(peer, measured);
  const before = peer.cpuUs();
  const { count, perSecond } = await repeat(rateMs, Number.POSITIVE_INFINITY, (index) => peer.stop(worker(index)));
  await pause(restMs);
  const used = perStop(before, peer.cpuUs(), count);
  measured.service.push(used.service);
  measured.store.push(used.store);
  measured.rate.push(perSecond);
  measured.rateOne.push((await repeat(rateMs, Number.POSITIVE_INFINITY, () => peer.stop('solo'))).perSecond);
  const loop = async (index: number) => {
    await peer.report(worker(index));
    await peer.stop(worker(index));
  };
  measured.rateLoop.push((await repeat(rateMs, Number.POSITIVE_INFINITY, loop)).perSecond);
}

async function sampleOne(peer: Peer, { report, stop }: Measured): Promise<void> {
  const untilMs = performance.now() + samplesMs;
  for (let index = 0; index < samples && performance.now() < untilMs; index += 1) {
    const startedMs = performance.now();
    await peer.report(worker(index));
    const reportedMs = performance.now();
    await peer.stop(worker(index));
    report.push(reportedMs - startedMs);
    stop.push(performance.now() - reportedMs);
  }
}

/** 64 at once for `forMs`, or until `most` have been called. */
async function repeat(
  forMs: number,
  most: number,
  call: (index: number) => Promise<unknown>,
): Promise<{ readonly count: number; readonly perSecond: number }> {
  let count = 0;
  const startedMs = performance.now();
  const one = async () => {
    while (count < most && performance.now() - startedMs < forMs) {
      count += 1;
      await call(count);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return { count, perSecond: (count / (performance.now() - startedMs)) * 1_000 };
}

const perStop = (before: Cpu, after: Cpu, count: number): Cpu => ({
  service: (after.service - before.service) / count,
  store: (after.store - before.store) / count,
});
