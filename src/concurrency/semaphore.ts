/** A counting semaphore that serves callers in order. */

type Semaphore = {
  /** Resolves to true when a permit is acquired, or to false if `signal` is aborted first. */
  acquire(signal: AbortSignal): Promise<boolean>;
  /** Returns a permit. Call it once per successful `acquire`. */
  release(): void;
};

/** @param countMax number of permits */
export function createSemaphore(countMax: number): Semaphore {
  let taken = 0;
  const waiting = new Set<() => void>(); // a Set keeps the order and removes from the middle in constant time
  return {
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
      // Pass the permit to the longest-waiting caller.
      for (const enter of waiting) {
        waiting.delete(enter);
        enter();
        return;
      }
      taken -= 1;
    },
  };
}
