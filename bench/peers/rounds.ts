/** Measures all peers in turn, round by round, so that other load on the machine affects all of them alike. */
import { setTimeout as pause } from 'node:timers/promises';
import { atOnce } from '../samples.ts';
import type { Peer } from './peer.ts';

/** The results of one peer over all rounds so far. Times in ms, rates per second, CPU in microseconds per stop. */
export type Measured = {
  readonly report: number[];
  readonly stop: number[];
  /** Rates of stops, 64 at once: over many workers, on one worker, and with a tool event before each. */
  readonly rate: number[];
  readonly rateOne: number[];
  readonly rateLoop: number[];
  readonly service: number[];
  readonly store: number[];
};

export const nothingMeasured = (): Measured => ({
  report: [],
  stop: [],
  rate: [],
  rateOne: [],
  rateLoop: [],
  service: [],
  store: [],
});

const workersCount = 1_000;
/** Limits of sequential calls. The first to be reached ends them: a shell takes 100 times as long as the floor. */
const samples = 100;
const samplesMs = 1_000;
const rateMs = 400;
const warmUpMs = 3_000;
const warmUps = 3_000;
/** Time for the work that the last call leaves behind, which counts as its own. */
const restMs = 25;

const worker = (index: number) => `w${index % workersCount}`;

/** Registers the workers and warms up the code. */
export async function warmUp(peer: Peer): Promise<void> {
  let next = 0;
  await repeat(warmUpMs, warmUps, async () => {
    next += 1;
    await peer.report(worker(next));
    await peer.stop(worker(next));
  });
}

export async function measureRound(peer: Peer, measured: Measured): Promise<void> {
  await sample((index) => peer.report(worker(index)), measured.report);
  const before = peer.cpuUs();
  const count = await sample((index) => peer.stop(worker(index)), measured.stop);
  await pause(restMs);
  const after = peer.cpuUs();
  measured.service.push((after.service - before.service) / count);
  measured.store.push((after.store - before.store) / count);
  measured.rate.push(await rateOf((index) => peer.stop(worker(index))));
  measured.rateOne.push(await rateOf(() => peer.stop('solo')));
  const loop = async (index: number) => {
    await peer.report(worker(index));
    await peer.stop(worker(index));
  };
  measured.rateLoop.push(await rateOf(loop));
}

/** @returns the number of calls */
async function sample(call: (index: number) => Promise<unknown>, took: number[]): Promise<number> {
  const untilMs = performance.now() + samplesMs;
  let count = 0;
  for (; count < samples && performance.now() < untilMs; count += 1) {
    const startedMs = performance.now();
    await call(count);
    took.push(performance.now() - startedMs);
  }
  return count;
}

const rateOf = (call: (index: number) => Promise<unknown>) => repeat(rateMs, Number.POSITIVE_INFINITY, call);

/** Calls 64 at once for `forMs`, or until `most` calls. @returns calls per second */
async function repeat(forMs: number, most: number, call: (index: number) => Promise<unknown>): Promise<number> {
  let count = 0;
  const startedMs = performance.now();
  const one = async () => {
    while (count < most && performance.now() - startedMs < forMs) {
      count += 1;
      await call(count);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return (count / (performance.now() - startedMs)) * 1_000;
}
