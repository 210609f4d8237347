/** Callers that wait for what their entry brings (a decision, a hook result), from the request to the answer. */
import { AppError } from '../../errors.ts';
import type { Bus } from '../../nats/bus.ts';
import { createTimerQueue, type Timer, type TimerQueue } from '../../timer.ts';
import type { FoldProgress } from '../fold/fold-progress.ts';

/** Calls `onLate` if the entry does not come in time, unless it is cleared before. */
type ExpectEntry = (onLate: () => void) => Timer;
/** Called once, in the turn that brings the answer; it must not throw. */
export type OnAnswer<Answer> = (answer: Answer | Error) => void;
/** `wait`: for the entry, or for the answer; `isStored`: for which of them. */
type Waiting<Answer> = { readonly waiters: OnAnswer<Answer>[]; readonly wait: Timer; readonly isStored: boolean };

export type Waiters<Answer> = {
  /**
   * Waits for the answer to `key`. `entry`: it is `folded` already; or it is still to `come`, and if it is late, the caller
   * gets log.unavailable.
   */
  wait(key: string, entry: 'folded' | 'to come', onAnswer: OnAnswer<Answer>): void;
  /**
   * The entry was folded, and the answer comes later: from now on it takes as long as its checks and its hold take. `as`:
   * its key from now on.
   */
  onStored(key: string, as: string): void;
  /** Somebody waits, and the entry is still to come. */
  awaitsEntry(key: string): boolean;
  has(key: string): boolean;
  /** Answers all who wait for it, in this turn. */
  settle(key: string, answer: Answer | Error): void;
  failAll(error: AppError): void;
  /** Fails the callers of the entry that has waited for its answer the longest. False: none does. */
  failOldest(error: AppError): boolean;
};

/** Callers of one key: whoever retries has mostly given up the request before. The oldest makes room. */
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
    found.wait.clear();
    for (const onAnswer of found.waiters) onAnswer(answer);
  };
  const awaitAnswer = (key: string) => answers.start(() => settle(key, stillOpen()));
  return {
    wait(key, entry, onAnswer) {
      const found = waiting.get(key);
      if (found !== undefined) {
        add(found, onAnswer);
        return;
      }
      const isStored = entry === 'folded';
      const wait = isStored ? awaitAnswer(key) : expect(() => settle(key, notDelivered()));
      waiting.set(key, { waiters: [onAnswer], wait, isStored });
    },
    onStored(key, as) {
      const found = waiting.get(key);
      if (found === undefined || (found.isStored && key === as)) return;
      found.wait.clear();
      waiting.delete(key);
      const known = waiting.get(as);
      if (known === undefined) waiting.set(as, { waiters: found.waiters, wait: awaitAnswer(as), isStored: true });
      else for (const waiter of found.waiters) add(known, waiter);
    },
    has: (key) => waiting.has(key),
    awaitsEntry: (key) => waiting.get(key)?.isStored === false,
    settle,
    failOldest(error) {
      for (const [key, { isStored }] of waiting) {
        if (!isStored) continue;
        settle(key, error);
        return true;
      }
      return false;
    },
    failAll(error) {
      for (const key of [...waiting.keys()]) settle(key, error);
    },
  };
}

function add<Answer>({ waiters }: Waiting<Answer>, onAnswer: OnAnswer<Answer>): void {
  waiters.push(onAnswer);
  if (waiters.length > perKeyMax) waiters.shift()?.(askedAgain());
}

const notDelivered = () => new AppError('log.unavailable', 'the log did not deliver the entry in time; ask again');
const stillOpen = () =>
  new AppError('log.unavailable', `not decided within ${answerTimeoutMs / 3_600_000} h; ask again with the same id`);
const askedAgain = () =>
  new AppError('service.busy', `${perKeyMax} newer requests wait for the same answer; this one gave way`);

type ExpectOptions = {
  readonly bus: Pick<Bus, 'isHeard'>;
  readonly progress: Pick<FoldProgress, 'seq'>;
  /** Its timers last half the time that the log may take to deliver an entry that was sent to it. */
  readonly entryWaits: TimerQueue;
};

/** The limit even if the log delivers other entries meanwhile. */
const slowestMs = 10_000;

/**
 * Calls `onLate` if the log delivers nothing in its time. While it does deliver, an entry is only behind others: a burst
 * of thousands is served to its end, and not refused after it was stored.
 */
export const expectEntry = (options: ExpectOptions, onLate: () => void): Timer => new EntryWait(options, onLate);

class EntryWait implements Timer {
  readonly #options: ExpectOptions;
  readonly #onLate: () => void;
  readonly #startedMs = performance.now();
  #seq: number;
  #timer: Timer;
  #ended = false;

  constructor(options: ExpectOptions, onLate: () => void) {
    this.#options = options;
    this.#onLate = onLate;
    this.#seq = options.progress.seq;
    this.#timer = this.#wait();
  }

  clear(): void {
    this.#ended = true;
    this.#timer.clear();
  }

  #wait(): Timer {
    return this.#options.entryWaits.start(() => this.#listen());
  }

  /** The server is pinged at half time already, because a missing answer takes a second to notice. */
  #listen(): void {
    const early = this.#options.bus.isHeard();
    this.#timer = this.#options.entryWaits.start(() => void this.#check(early));
  }

  async #check(early: Promise<boolean>): Promise<void> {
    const { bus, progress } = this.#options;
    // What the server had sent before may still stand in line here, behind requests.
    const isHeard = ((await early) || progress.seq > this.#seq) && (await bus.isHeard());
    if (this.#ended) return;
    const moves = isHeard && progress.seq > this.#seq && performance.now() - this.#startedMs < slowestMs;
    this.#seq = progress.seq;
    if (moves) this.#timer = this.#wait();
    else this.#onLate();
  }
}

/**
 * The inboxes that undecided attempts named (header `Stopgate-Reply`), by `attemptMessageId`. A repeat of an open attempt
 * names another one. It takes nobody's place: else whoever repeats an attempt of others would get the answer alone.
 */
export type ReplyInboxes = {
  add(key: string, inbox: string): void;
  /** Returns and forgets them. */
  take(key: string): readonly string[];
  capture(): InboxesOf[];
  restore(captured: readonly InboxesOf[]): void;
};

type InboxesOf = readonly [key: string, inboxes: readonly string[]];

/** The first callers of one attempt are answered. Whoever else repeats it asks by a `decide` request. */
const perAttemptMax = 8;

export function createReplyInboxes(): ReplyInboxes {
  const named = new Map<string, readonly string[]>();
  return {
    add(key, inbox) {
      const known = named.get(key) ?? [];
      if (known.length < perAttemptMax && !known.includes(inbox)) named.set(key, [...known, inbox]);
    },
    take(key) {
      const taken = named.get(key) ?? [];
      named.delete(key);
      return taken;
    },
    capture: () => [...named],
    restore(captured) {
      for (const [key, inboxes] of captured) named.set(key, inboxes);
    },
  };
}
