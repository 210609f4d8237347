/** A mutex per key. */

/** Runs work with the same key one at a time, in call order. Different keys run in parallel. */
export type KeyedMutex = {
  /** Resolves or rejects like `work`. A failure does not affect the work queued after it. */
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
