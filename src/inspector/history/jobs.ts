/**
 * Jobs of the history process: one works at a time. A long one lets the others that wait have their turn now and then, so
 * that a jump never waits for a comparison of weeks.
 */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { HistoryProgress, HistoryWork } from './history-process.ts';

/** `background`: nobody waits for it, so everything else goes first, and it works for half of the time at most. */
type Kind = HistoryWork['kind'] | 'background';

export type Asker = {
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
  /** Called a few times a second. */
  readonly onProgress: (progress: HistoryProgress) => void;
};
export type Job = {
  readonly signal: AbortSignal;
  /**
   * Must be called for each entry, with how many of how many are done. Returns a promise when it is another's turn; it
   * rejects when nobody waits for the job any more.
   */
  step(done: number, total: number): Promise<void> | undefined;
};
export type Jobs = {
  /** Jobs of a kind begin in the order in which they came. */
  run<Result>(kind: Kind, asker: Asker, work: (job: Job) => Promise<Result>): Promise<Result>;
};

/**
 * The most jobs of a kind that have begun, since each holds a fleet, a comparison two. Statistics all go on in the same
 * counts, so they never mix.
 */
const begunMax: Readonly<Record<Kind, number>> = { past: 2, outline: 1, statistics: 1, whatIf: 1, background: 1 };
/** The process looks for messages, such as that a job is given up, this often. */
const sliceMs = 8;
/** Longer than nearly every jump takes: who jumps is rarely interrupted. */
const turnMs = 250;
const progressEveryMs = 200;
/** The clock is read once for so many entries. */
const checkEvery = 16;

type Waiting = { readonly kind: Kind; readonly hasBegun: boolean; readonly start: () => void };

export function createJobs(): Jobs {
  const line: Waiting[] = [];
  const begun: Record<Kind, number> = { past: 0, outline: 0, statistics: 0, whatIf: 0, background: 0 };
  let isBusy = false;
  const mayStart = ({ kind, hasBegun }: Waiting) => hasBegun || begun[kind] < begunMax[kind];
  const startNext = () => {
    const next = line.find((it) => it.kind !== 'background' && mayStart(it)) ?? line.find(mayStart);
    isBusy = next !== undefined;
    if (next === undefined) return;
    line.splice(line.indexOf(next), 1);
    if (!next.hasBegun) begun[next.kind] += 1;
    next.start();
  };
  const wait = (kind: Kind, hasBegun: boolean) =>
    new Promise<void>((start) => {
      line.push({ kind, hasBegun, start });
      if (!isBusy) startNext();
    });
  const createJob = (kind: Kind, { signal, onProgress }: Asker): Job => {
    const isBackground = kind === 'background';
    let turnFromMs = performance.now();
    let [sliceFromMs, toldMs] = [turnFromMs, turnFromMs];
    let steps = 0;
    const rest = async (done: number, total: number) => {
      if (isBackground) await pause(sliceMs);
      else await nextTurn();
      if (line.some(mayStart) && (isBackground || performance.now() - turnFromMs >= turnMs)) {
        const turn = wait(kind, true);
        startNext();
        await turn;
        turnFromMs = performance.now();
      }
      signal.throwIfAborted();
      sliceFromMs = performance.now();
      if (sliceFromMs - toldMs < progressEveryMs) return;
      toldMs = sliceFromMs;
      onProgress({ done, total });
    };
    return {
      signal,
      step(done, total) {
        steps += 1;
        if (steps % checkEvery !== 0 || performance.now() - sliceFromMs < sliceMs) return undefined;
        return rest(done, total);
      },
    };
  };
  return {
    async run(kind, asker, work) {
      await wait(kind, false);
      try {
        asker.signal.throwIfAborted();
        const result = await work(createJob(kind, asker));
        asker.signal.throwIfAborted(); // it may have ended within the slice in which it was given up
        return result;
      } finally {
        begun[kind] -= 1;
        startNext();
      }
    },
  };
}
