/**
 * Schedules the jobs of the history process. One runs at a time, and a long one regularly yields to waiting jobs, so
 * that a jump never waits for a comparison over weeks.
 */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { HistoryProgress, HistoryWork } from './history-process.ts';

/** Nobody waits for a `background` job: all others go first, and it uses at most half of the CPU time. */
type Kind = HistoryWork['kind'] | 'background';

export type Asker = {
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal;
  /** Called a few times a second. */
  readonly onProgress: (progress: HistoryProgress) => void;
};
export type Job = {
  readonly signal: AbortSignal;
  /**
   * Call this for each entry, with the progress. Returns a promise if the job must yield; it rejects if the job was
   * aborted.
   */
  step(done: number, total: number): Promise<void> | undefined;
};
export type Jobs = {
  /** Jobs of the same kind start in the order of the calls. */
  run<Result>(kind: Kind, asker: Asker, work: (job: Job) => Promise<Result>): Promise<Result>;
};

/**
 * Maximum number of started jobs of each kind. Each holds a fleet in memory; a comparison holds two. Statistics jobs
 * share their counts, so they must not interleave.
 */
const startedMax: Readonly<Record<Kind, number>> = {
  past: 2,
  outline: 1,
  statistics: 1,
  receipt: 1,
  rules: 1,
  whatIf: 1,
  background: 1,
};
/** How often a job yields to the event loop, so that the process sees messages such as a cancellation. */
const sliceMs = 8;
/** How long a job runs before it yields to other jobs. Nearly every jump is shorter. */
const turnMs = 250;
const progressEveryMs = 200;
/** Read the clock only once per this many entries. */
const checkEvery = 16;

type Waiting = { readonly kind: Kind; readonly hasStarted: boolean; readonly start: () => void };

export function createJobs(): Jobs {
  const queue: Waiting[] = [];
  const started: Record<Kind, number> = {
    past: 0,
    outline: 0,
    statistics: 0,
    receipt: 0,
    rules: 0,
    whatIf: 0,
    background: 0,
  };
  let isBusy = false;
  const mayStart = ({ kind, hasStarted }: Waiting) => hasStarted || started[kind] < startedMax[kind];
  const startNext = () => {
    const next = queue.find((waiting) => waiting.kind !== 'background' && mayStart(waiting)) ?? queue.find(mayStart);
    isBusy = next !== undefined;
    if (next === undefined) return;
    queue.splice(queue.indexOf(next), 1);
    if (!next.hasStarted) started[next.kind] += 1;
    next.start();
  };
  const wait = (kind: Kind, hasStarted: boolean) =>
    new Promise<void>((start) => {
      queue.push({ kind, hasStarted, start });
      if (!isBusy) startNext();
    });
  const createJob = (kind: Kind, { signal, onProgress }: Asker): Job => {
    const isBackground = kind === 'background';
    let turnFromMs = performance.now();
    let [sliceFromMs, reportedMs] = [turnFromMs, turnFromMs];
    let steps = 0;
    const yieldNow = async (done: number, total: number) => {
      if (isBackground) await pause(sliceMs);
      else await nextTurn();
      if (queue.some(mayStart) && (isBackground || performance.now() - turnFromMs >= turnMs)) {
        const turn = wait(kind, true);
        startNext();
        await turn;
        turnFromMs = performance.now();
      }
      signal.throwIfAborted();
      sliceFromMs = performance.now();
      if (sliceFromMs - reportedMs < progressEveryMs) return;
      reportedMs = sliceFromMs;
      onProgress({ done, total });
    };
    return {
      signal,
      step(done, total) {
        steps += 1;
        if (steps % checkEvery !== 0 || performance.now() - sliceFromMs < sliceMs) return undefined;
        return yieldNow(done, total);
      },
    };
  };
  return {
    async run(kind, asker, work) {
      await wait(kind, false);
      try {
        asker.signal.throwIfAborted();
        const result = await work(createJob(kind, asker));
        asker.signal.throwIfAborted(); // it may have been aborted in its last slice
        return result;
      } finally {
        started[kind] -= 1;
        startNext();
      }
    },
  };
}
