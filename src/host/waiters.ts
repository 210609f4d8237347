/** Callers that wait for what an entry of theirs brings (a decision, a hook result), from their request to the answer. */
import { AppError } from '../errors.ts';

type Waiter<Answer> = { readonly resolve: (answer: Answer) => void; readonly reject: (error: AppError) => void };

export type Waiters<Answer> = {
  readonly size: number;
  /**
   * Waits for the answer to `key`. Until `met` is called the entry itself is still to come: that has
   * `entryTimeoutMs`, or else the caller gets log.unavailable. With 0 the entry has been met.
   */
  wait(key: string, entryTimeoutMs: number): Promise<Answer>;
  /** The entry was folded: from now on it takes as long as its checks and hold take. `as`: its key from now on. */
  met(key: string, as: string): void;
  /** Somebody waits, and the entry is still to come. */
  isUnmet(key: string): boolean;
  has(key: string): boolean;
  settle(key: string, answer: Answer): void;
  fail(key: string, error: AppError): void;
  failAll(error: AppError): void;
};

export function createWaiters<Answer>(): Waiters<Answer> {
  const waiting = new Map<string, { waiters: Waiter<Answer>[]; timer: NodeJS.Timeout | null }>();
  let size = 0;
  const take = (key: string): Waiter<Answer>[] => {
    const found = waiting.get(key);
    if (found === undefined) return [];
    waiting.delete(key);
    if (found.timer !== null) clearTimeout(found.timer);
    size -= found.waiters.length;
    return found.waiters;
  };
  const fail = (key: string, error: AppError) => {
    for (const { reject } of take(key)) reject(error);
  };
  return {
    get size() {
      return size;
    },
    wait: (key, entryTimeoutMs) =>
      new Promise((resolve, reject) => {
        size += 1;
        const known = waiting.get(key);
        if (known !== undefined) {
          known.waiters.push({ resolve, reject });
          return;
        }
        const late = () =>
          fail(key, new AppError('log.unavailable', `the log did not deliver the entry within ${entryTimeoutMs} ms`));
        const timer = entryTimeoutMs > 0 ? setTimeout(late, entryTimeoutMs) : null;
        waiting.set(key, { waiters: [{ resolve, reject }], timer });
      }),
    met(key, as) {
      const found = waiting.get(key);
      if (found === undefined) return;
      if (found.timer !== null) clearTimeout(found.timer);
      found.timer = null;
      if (key === as) return;
      waiting.delete(key);
      const there = waiting.get(as);
      if (there === undefined) waiting.set(as, found);
      else there.waiters.push(...found.waiters);
    },
    has: (key) => waiting.has(key),
    isUnmet: (key) => waiting.get(key)?.timer != null,
    settle(key, answer) {
      for (const { resolve } of take(key)) resolve(answer);
    },
    fail,
    failAll(error) {
      for (const key of [...waiting.keys()]) fail(key, error);
    },
  };
}
