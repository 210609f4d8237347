/** Runs work of the same key one after the other, in the order of the calls; work of different keys side by side. */

export type KeyedMutex = {
  /** Gives the result of `work`. Its failure is this caller's alone: what waits behind it still runs. */
  runExclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result>;
};

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>();
  return {
    async runExclusive(key, work) {
      const before = tails.get(key);
      const mine = before === undefined ? work() : before.then(work, work);
      tails.set(key, mine);
      try {
        return await mine;
      } finally {
        if (tails.get(key) === mine) tails.delete(key);
      }
    },
  };
}
