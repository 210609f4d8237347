/** Places for processes: so many at once, the others wait in the order of their coming. */

export type Slots = {
  /** True: the place is yours until `give`. False: aborted before one was free. */
  take(signal: AbortSignal): Promise<boolean>;
  give(): void;
  readonly waiting: () => number;
};

export function createSlots(countMax: number): Slots {
  let free = countMax;
  const waiting = new Set<() => void>(); // a Set keeps the order, and leaving the middle costs nothing
  return {
    waiting: () => waiting.size,
    async take(signal) {
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
    give() {
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
