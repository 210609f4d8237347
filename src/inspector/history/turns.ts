/** Turns: folds that run at the same time, each for a short while in turn, so that a short one never waits for a long one. */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

export type Pace = {
  /** To be called for each entry. A promise: it is another's turn, so wait. */
  step(): Promise<void> | undefined;
};

type PaceOptions = {
  /** Called a few times a second. @throws what ends the work */
  readonly onTurn: () => void;
  /** Whether nobody looks on: the work then takes half of the time at most. */
  readonly isBackground?: () => boolean;
  /** Whether work in the background has to rest. */
  readonly isOutranked?: () => boolean;
};

const sliceMs = 8;
/** The clock is read once for so many entries. */
const checkEvery = 16;
const turnEveryMs = 200;
const outrankedRestMs = 50;

const never = () => false;

export function createPace({ onTurn, isBackground = never, isOutranked = never }: PaceOptions): Pace {
  let sliceFromMs = performance.now();
  let toldMs = sliceFromMs;
  let steps = 0;
  const rest = async () => {
    if (isBackground()) await pause(sliceMs);
    else await nextTurn();
    while (isBackground() && isOutranked()) await pause(outrankedRestMs);
    sliceFromMs = performance.now();
    if (sliceFromMs - toldMs < turnEveryMs) return;
    toldMs = sliceFromMs;
    onTurn();
  };
  return {
    step() {
      steps += 1;
      if (steps % checkEvery !== 0 || performance.now() - sliceFromMs < sliceMs) return undefined;
      return rest();
    },
  };
}

export type Lane = {
  /** Starts when fewer than `runningMax` run; those that wait start in the order in which they came. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
};

/** @param runningMax each holds at least one folded fleet */
export function createLane(runningMax: number): Lane {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run(work) {
      if (running >= runningMax) await new Promise<void>((start) => waiting.push(start));
      else running += 1;
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        // The next one takes over the place.
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
