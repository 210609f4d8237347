/** Work of one key goes one after the other, in the order in which it came; that of different keys side by side. */

export type Lanes = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>;

/** A failure is its own caller's alone: what waits behind it goes on. */
export function createLanes(): Lanes {
  const tails = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = tails.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (tails.get(key) === mine) tails.delete(key);
    }
  };
}
