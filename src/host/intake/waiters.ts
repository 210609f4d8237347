/** The callers that wait for the outcome of an entry: a decision or a hook result. */
import { AppError } from '../../errors.ts';
import { createTimerQueue, type Timer } from '../../timer.ts';

export type Waiter<Answer> = {
  /** The key under which it waits. Set by `Waiters` only. */
  waitsFor: string;
  /** Called once, in the turn in which the answer is known. Must not throw. */
  finish(answer: Answer | Error): void;
};

/** Starts the timeout of an entry (`entry-wait.ts`). */
type ExpectEntry = (onLate: () => void) => Timer;
/** `timer` is the timeout of the entry, or, once the entry `isStored`, of the answer. */
type Waiting<Answer> = { readonly waiters: Waiter<Answer>[]; readonly timer: Timer; readonly isStored: boolean };

export type Waiters<Answer> = {
  /** Waits for an entry to be folded, then for its answer. If the entry is late, the waiter gets log.unavailable. */
  waitForEntry(key: string, waiter: Waiter<Answer>): void;
  /** Waits for the answer to a folded entry. */
  waitForAnswer(key: string, waiter: Waiter<Answer>): void;
  /** Called when an entry is folded whose answer comes later, after checks or a hold. Its waiters move to `newKey`. */
  onStored(key: string, newKey: string): void;
  /** Whether somebody waits and the entry is not folded yet. */
  awaitsEntry(key: string): boolean;
  /** Whether somebody waits and the entry is folded. */
  awaitsAnswer(key: string): boolean;
  has(key: string): boolean;
  /** Answers all waiters of that key, synchronously. */
  settle(key: string, answer: Answer | Error): void;
  /** Removes a waiter. No effect if it does not wait. */
  remove(waiter: Waiter<Answer>): void;
  failAll(error: AppError): void;
};

/** Maximum waiters per key. A retry usually replaces an abandoned call, so the oldest is evicted. */
const perKeyMax = 8;
/** NATS permissions allow no reply after this time (`replyAwaited`, permissions.ts). The decision is still made. */
const answerTimeoutMs = 24 * 3_600_000;

export function createWaiters<Answer>(expect: ExpectEntry): Waiters<Answer> {
  const waiting = new Map<string, Waiting<Answer>>();
  const answers = createTimerQueue(answerTimeoutMs);
  const settle = (key: string, answer: Answer | Error) => {
    const found = waiting.get(key);
    if (found === undefined) return;
    waiting.delete(key);
    found.timer.clear();
    for (const waiter of found.waiters) waiter.finish(answer);
  };
  const startEntryTimer = (key: string) => expect(() => settle(key, notDelivered()));
  const startAnswerTimer = (key: string) => answers.start(() => settle(key, stillOpen()));
  const add = (key: string, waiter: Waiter<Answer>, isStored: boolean) => {
    waiter.waitsFor = key;
    const found = waiting.get(key);
    if (found === undefined) {
      const timer = isStored ? startAnswerTimer(key) : startEntryTimer(key);
      waiting.set(key, { waiters: [waiter], timer, isStored });
      return;
    }
    found.waiters.push(waiter);
    if (found.waiters.length > perKeyMax) found.waiters.shift()?.finish(evicted());
  };
  return {
    waitForEntry: (key, waiter) => add(key, waiter, false),
    waitForAnswer: (key, waiter) => add(key, waiter, true),
    onStored(key, newKey) {
      const found = waiting.get(key);
      if (found === undefined || (found.isStored && key === newKey)) return;
      found.timer.clear();
      waiting.delete(key);
      for (const waiter of found.waiters) add(newKey, waiter, true);
    },
    has: (key) => waiting.has(key),
    awaitsEntry: (key) => waiting.get(key)?.isStored === false,
    awaitsAnswer: (key) => waiting.get(key)?.isStored === true,
    settle,
    remove(waiter) {
      const found = waiting.get(waiter.waitsFor);
      const index = found?.waiters.indexOf(waiter) ?? -1;
      if (found === undefined || index < 0) return;
      found.waiters.splice(index, 1);
      if (found.waiters.length > 0) return;
      found.timer.clear();
      waiting.delete(waiter.waitsFor);
    },
    failAll(error) {
      for (const key of [...waiting.keys()]) settle(key, error);
    },
  };
}

const notDelivered = () => new AppError('log.unavailable', 'the log did not deliver the entry in time; ask again');
const stillOpen = () =>
  new AppError('log.unavailable', `not decided within ${answerTimeoutMs / 3_600_000} h; ask again with the same id`);
const evicted = () =>
  new AppError('service.busy', `${perKeyMax} newer requests wait for the same answer; this one gave way`);
