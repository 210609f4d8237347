/** A counting semaphore: a limited number of places. The others wait, first come, first served. */

export type Semaphore = {
  /** True: a place is taken, until `release`. False: `signal` was aborted before one was free. */
  acquire(signal: AbortSignal): Promise<boolean>;
  release(): void;
  /** From now on there are so many places. Those that are taken beyond it are not given again. */
  resize(countMax: number): void;
  /** How many wait for a place. */
  readonly waiting: () => number;
};

export function createSemaphore(countFirst: number): Semaphore {
  let countMax = countFirst;
  let taken = 0;
  const waiting = new Set<() => void>(); // a Set keeps the order, and removing from the middle is cheap
  const admit = () => {
    for (const enter of waiting) {
      if (taken >= countMax) return;
      taken += 1;
      waiting.delete(enter);
      enter();
    }
  };
  return {
    waiting: () => waiting.size,
    async acquire(signal) {
      if (signal.aborted) return false;
      if (taken < countMax) {
        taken += 1;
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
      taken -= 1;
      admit();
    },
    resize(count) {
      countMax = count;
      admit();
    },
  };
}
