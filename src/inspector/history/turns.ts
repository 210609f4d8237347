/** Turns: requests that fold at the same time, each for a short while in turn, so that a short one never waits for a long one. */
import type { HistoryProgress } from './work.ts';

export type Pace = {
  /** To be called for each entry. A promise: it is another's turn, so wait. @throws what the signal was aborted with */
  step(done: number, total: number): Promise<void> | undefined;
};

const sliceMs = 8;
/** The clock is read once for so many entries. */
const checkEvery = 16;
const progressEveryMs = 200;

/** @param onProgress is called a few times a second */
export function createPace(signal: AbortSignal, onProgress: (progress: HistoryProgress) => void): Pace {
  let sliceFromMs = performance.now();
  let toldMs = sliceFromMs;
  let steps = 0;
  const rest = async () => {
    await new Promise((resume) => setImmediate(resume));
    signal.throwIfAborted();
    sliceFromMs = performance.now();
  };
  return {
    step(done, total) {
      steps += 1;
      if (steps % checkEvery !== 0) return undefined;
      const nowMs = performance.now();
      if (nowMs - sliceFromMs < sliceMs) return undefined;
      if (nowMs - toldMs >= progressEveryMs) {
        toldMs = nowMs;
        onProgress({ done, total });
      }
      return rest();
    },
  };
}

export type Lane = {
  /** Starts when fewer than `runningMax` run; those that wait start in the order in which they came. */
  run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
};

/** @param runningMax each holds at least one folded fleet */
export function createLane(runningMax: number): Lane {
  const waiting: (() => void)[] = [];
  let running = 0;
  const enter = (signal: AbortSignal) =>
    new Promise<void>((start, refuse) => {
      const begin = () => {
        running += 1;
        start();
      };
      if (running < runningMax) return begin();
      waiting.push(begin);
      signal.addEventListener('abort', () => {
        const at = waiting.indexOf(begin);
        if (at < 0) return;
        waiting.splice(at, 1);
        refuse(signal.reason);
      });
    });
  return {
    async run(signal, work) {
      await enter(signal);
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        running -= 1;
        waiting.shift()?.();
      }
    },
  };
}
