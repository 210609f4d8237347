/** A counting semaphore: a limited number of places. The others wait, first come, first served. */

export type Semaphore = {
  /** True: a place is taken, until `release`. False: `signal` was aborted before one was free. */
  acquire(signal: AbortSignal): Promise<boolean>;
  release(): void;
  /** How many wait for a place. */
  readonly waiting: () => number;
};

export function createSemaphore(countMax: number): Semaphore {
  let free = countMax;
  const waiting = new Set<() => void>(); // a Set keeps the order, and removing from the middle is cheap
  return {
    waiting: () => waiting.size,
    async acquire(signal) {
      if (signal.aborted) return false;
      if (free > 0) {
        free -= 1;
        return true;
      }
      return new Promise<boolean>((resolve) => {
        const enter = () => {
          signal.removeEventListener('abort', leave);
          resolve(true);
        };
        const leave = () => {
          waiting.delete(enter);
          resolve(false);
        };
        waiting.add(enter);
        signal.addEventListener('abort', leave, { once: true });
      });
    },
    release() {
      const [next] = waiting;
      if (next === undefined) {
        free += 1;
      } else {
        waiting.delete(next);
        next();
      }
    },
  };
}
