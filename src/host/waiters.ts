/** Callers that wait for what their entry brings (a decision, a hook result), from the request to the answer. */
import { AppError } from '../errors.ts';

type Waiter<Answer> = { readonly resolve: (answer: Answer) => void; readonly reject: (error: AppError) => void };

export type Waiters<Answer> = {
  readonly size: number;
  /**
   * Waits for the answer to `key`. Until `onStored` is called the entry itself is still to come. It has
   * `entryTimeoutMs` for that, then the caller gets log.unavailable. 0: the entry is folded already.
   */
  wait(key: string, entryTimeoutMs: number): Promise<Answer>;
  /** The entry was folded: from now on it takes as long as its checks and its hold take. `as`: its key from now on. */
  onStored(key: string, as: string): void;
  /** Somebody waits, and the entry is still to come. */
  awaitsEntry(key: string): boolean;
  has(key: string): boolean;
  settle(key: string, answer: Answer): void;
  fail(key: string, error: AppError): void;
  failAll(error: AppError): void;
};

export function createWaiters<Answer>(): Waiters<Answer> {
  const waiting = new Map<string, { waiters: Waiter<Answer>[]; timer: NodeJS.Timeout | null }>();
  let size = 0;
  const remove = (key: string): Waiter<Answer>[] => {
    const found = waiting.get(key);
    if (found === undefined) return [];
    waiting.delete(key);
    if (found.timer !== null) clearTimeout(found.timer);
    size -= found.waiters.length;
    return found.waiters;
  };
  const fail = (key: string, error: AppError) => {
    for (const { reject } of remove(key)) reject(error);
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
        const timer =
          entryTimeoutMs > 0 ? setTimeout(() => fail(key, notDelivered(entryTimeoutMs)), entryTimeoutMs) : null;
        waiting.set(key, { waiters: [{ resolve, reject }], timer });
      }),
    onStored(key, as) {
      const found = waiting.get(key);
      if (found === undefined) return;
      if (found.timer !== null) clearTimeout(found.timer);
      found.timer = null;
      if (key === as) return;
      waiting.delete(key);
      const known = waiting.get(as);
      if (known === undefined) waiting.set(as, found);
      else known.waiters.push(...found.waiters);
    },
    has: (key) => waiting.has(key),
    awaitsEntry: (key) => waiting.get(key)?.timer != null,
    settle(key, answer) {
      for (const { resolve } of remove(key)) resolve(answer);
    },
    fail,
    failAll(error) {
      for (const key of [...waiting.keys()]) fail(key, error);
    },
  };
}

const notDelivered = (timeoutMs: number) =>
  new AppError('log.unavailable', `the log did not deliver the entry within ${timeoutMs} ms`);
