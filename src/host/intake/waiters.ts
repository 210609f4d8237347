/** Who waits for what an entry brings (a decision, a hook result), from the request to the answer. */
import { AppError } from '../../errors.ts';
import { createTimerQueue, type Timer } from '../../timer.ts';

export type Waiter<Answer> = {
  /** The key under which it waits. Only `Waiters` sets it. */
  waitsFor: string;
  /** Called once, in the turn that brings the answer; it must not throw. */
  finish(answer: Answer | Error): void;
};

/** Calls `onLate` if the entry does not come in time, unless it is cleared before. */
type ExpectEntry = (onLate: () => void) => Timer;
/** `timer`: for the entry, or, once it `isStored`, for the answer. */
type Waiting<Answer> = { readonly waiters: Waiter<Answer>[]; readonly timer: Timer; readonly isStored: boolean };

export type Waiters<Answer> = {
  /** Waits for an entry that is still to come, and then for the answer. If the entry is late, the waiter gets log.unavailable. */
  waitForEntry(key: string, waiter: Waiter<Answer>): void;
  /** Waits for the answer to an entry that is folded. */
  waitForAnswer(key: string, waiter: Waiter<Answer>): void;
  /**
   * The entry was folded and its answer comes later, when its checks and its hold have ended. `as`: its key from now on.
   */
  onStored(key: string, as: string): void;
  /** Somebody waits, and the entry is still to come. */
  awaitsEntry(key: string): boolean;
  /** Somebody waits, and the entry is folded. */
  awaitsAnswer(key: string): boolean;
  has(key: string): boolean;
  /** Answers all who wait for it, in this turn. */
  settle(key: string, answer: Answer | Error): void;
  /** Stops waiting. It has no effect for a waiter that does not wait. */
  remove(waiter: Waiter<Answer>): void;
  failAll(error: AppError): void;
};

/** Maximum waiters per key. A retry usually replaces an abandoned call, so the oldest is evicted. */
const perKeyMax = 8;
/** No reply finds its way back after this (`replyAwaited`, permissions.ts). The decision is still made. */
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
    if (found.waiters.length > perKeyMax) found.waiters.shift()?.finish(askedAgain());
  };
  return {
    waitForEntry: (key, waiter) => add(key, waiter, false),
    waitForAnswer: (key, waiter) => add(key, waiter, true),
    onStored(key, as) {
      const found = waiting.get(key);
      if (found === undefined || (found.isStored && key === as)) return;
      found.timer.clear();
      waiting.delete(key);
      for (const waiter of found.waiters) add(as, waiter, true);
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
const askedAgain = () =>
  new AppError('service.busy', `${perKeyMax} newer requests wait for the same answer; this one gave way`);
