/** Callers that wait for what their entry brings (a decision, a hook result), from the request to the answer. */
import { AppError } from '../errors.ts';

/** Calls `onLate` if the entry does not come in time. @returns a function that ends it */
type ExpectEntry = (onLate: () => void) => () => void;
type Waiter<Answer> = { readonly resolve: (answer: Answer) => void; readonly reject: (error: AppError) => void };
/** `stop`: ends the wait for the entry, or for the answer; `isStored`: for which of them. */
type Waiting<Answer> = { readonly waiters: Waiter<Answer>[]; stop: () => void; isStored: boolean };

export type Waiters<Answer> = {
  /**
   * Waits for the answer to `key`. Until `onStored` is called the entry itself is still to come; `expect` ends that, and
   * the caller gets log.unavailable. Null: the entry is folded already.
   */
  wait(key: string, expect: ExpectEntry | null): Promise<Answer>;
  /** The entry was folded: from now on it takes as long as its checks and its hold take. `as`: its key from now on. */
  onStored(key: string, as: string): void;
  /** Somebody waits, and the entry is still to come. */
  awaitsEntry(key: string): boolean;
  has(key: string): boolean;
  settle(key: string, answer: Answer): void;
  fail(key: string, error: AppError): void;
  failAll(error: AppError): void;
};

/** Callers of one key: whoever retries has mostly given up the request before. The oldest makes room. */
const perKeyMax = 8;
/** No reply finds its way back after this (`replyAwaited`, permissions.ts). The decision is still made. */
const answerTimeoutMs = 24 * 3_600_000;

export function createWaiters<Answer>(): Waiters<Answer> {
  const waiting = new Map<string, Waiting<Answer>>();
  const remove = (key: string): Waiter<Answer>[] => {
    const found = waiting.get(key);
    if (found === undefined) return [];
    waiting.delete(key);
    found.stop();
    return found.waiters;
  };
  const fail = (key: string, error: AppError) => {
    for (const { reject } of remove(key)) reject(error);
  };
  const awaitAnswer = (key: string) => {
    const timer = setTimeout(() => fail(key, stillOpen()), answerTimeoutMs);
    return () => clearTimeout(timer);
  };
  return {
    wait: (key, expect) =>
      new Promise((resolve, reject) => {
        const found = waiting.get(key);
        if (found !== undefined) {
          add(found, { resolve, reject });
          return;
        }
        const stop = expect === null ? awaitAnswer(key) : expect(() => fail(key, notDelivered()));
        waiting.set(key, { waiters: [{ resolve, reject }], stop, isStored: expect === null });
      }),
    onStored(key, as) {
      const found = waiting.get(key);
      if (found === undefined || (found.isStored && key === as)) return;
      found.stop();
      waiting.delete(key);
      const known = waiting.get(as);
      if (known === undefined) waiting.set(as, { waiters: found.waiters, stop: awaitAnswer(as), isStored: true });
      else for (const waiter of found.waiters) add(known, waiter);
    },
    has: (key) => waiting.has(key),
    awaitsEntry: (key) => waiting.get(key)?.isStored === false,
    settle(key, answer) {
      for (const { resolve } of remove(key)) resolve(answer);
    },
    fail,
    failAll(error) {
      for (const key of [...waiting.keys()]) fail(key, error);
    },
  };
}

function add<Answer>({ waiters }: Waiting<Answer>, waiter: Waiter<Answer>): void {
  waiters.push(waiter);
  if (waiters.length > perKeyMax) waiters.shift()?.reject(askedAgain());
}

const notDelivered = () => new AppError('log.unavailable', 'the log did not deliver the entry in time; ask again');
const stillOpen = () =>
  new AppError('log.unavailable', `not decided within ${answerTimeoutMs / 3_600_000} h; ask again with the same id`);
const askedAgain = () =>
  new AppError('service.busy', `${perKeyMax} newer requests wait for the same answer; this one gave way`);
