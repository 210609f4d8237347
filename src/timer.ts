/**
 * Timers of any length. Node's timers fire at once beyond 2^31 - 1 ms (24.8 days), so longer waits take several steps.
 * Every duration from a configuration, a caller or the wire must use these functions.
 */

/** The longest wait of a Node timer. */
export const timerMsMax = 2 ** 31 - 1;

export type Timer = { clear(): void };

/** Calls `onDue` once after `ms`. Negative values count as 0. */
export function startTimer(ms: number, onDue: () => void): Timer {
  let timer: NodeJS.Timeout;
  const wait = (leftMs: number) => {
    timer =
      leftMs > timerMsMax
        ? setTimeout(() => wait(leftMs - timerMsMax), timerMsMax)
        : setTimeout(onDue, Math.max(0, leftMs));
  };
  wait(ms);
  return { clear: () => clearTimeout(timer) };
}

/** Timers that all have the same length. */
export type TimerQueue = { start(onDue: () => void): Timer };

/**
 * Serves all waits of `ms` with a single Node timer. Nearly all of them are cleared early, and starting and clearing
 * one costs no more than a list entry. Does not keep the process alive.
 */
export function createTimerQueue(ms: number): TimerQueue {
  // Sorted by due time, since all have the same length. `ends` is the sentinel of the circular list.
  const ends = new Wait(0, () => {});
  let isArmed = false;
  const arm = (afterMs: number) => {
    isArmed = true;
    setTimeout(callDue, afterMs).unref();
  };
  const callDue = () => {
    const nowMs = performance.now();
    for (let wait = ends.after; wait !== ends; wait = ends.after) {
      if (wait.dueMs > nowMs) {
        arm(Math.ceil(wait.dueMs - nowMs));
        return;
      }
      wait.clear();
      wait.onDue();
    }
    isArmed = false;
  };
  return {
    start(onDue) {
      const wait = new Wait(performance.now() + ms, onDue);
      wait.insertBefore(ends);
      if (!isArmed) arm(ms);
      return wait;
    },
  };
}

/** A list entry. Starting and clearing it allocates nothing else. */
class Wait implements Timer {
  readonly dueMs: number;
  readonly onDue: () => void;
  #before: Wait = this;
  #after: Wait = this;

  constructor(dueMs: number, onDue: () => void) {
    this.dueMs = dueMs;
    this.onDue = onDue;
  }

  get after(): Wait {
    return this.#after;
  }

  insertBefore(next: Wait): void {
    this.#before = next.#before;
    this.#after = next;
    this.#before.#after = this;
    next.#before = this;
  }

  /** Removes the entry from its list. */
  clear(): void {
    this.#before.#after = this.#after;
    this.#after.#before = this.#before;
    this.#before = this;
    this.#after = this;
  }
}

export type TimedSignal = Timer & { readonly signal: AbortSignal };

/** Starts a signal that aborts after `ms` unless it is cleared: an `AbortSignal.timeout` of any length. */
export function startTimedSignal(ms: number): TimedSignal {
  const abort = new AbortController();
  const { clear } = startTimer(ms, () => abort.abort(notNeeded));
  return { signal: abort.signal, clear };
}

/**
 * Waits at most `ms` for `work`, otherwise returns `late()`. @throws what `work` rejects with, or what `late` throws
 */
export async function withTimeout<Result, Late>(
  ms: number,
  work: Promise<Result>,
  late: () => Late,
): Promise<Result | Late> {
  let timer: Timer | null = null;
  const over = new Promise<void>((resolve) => {
    timer = startTimer(ms, resolve);
  });
  return Promise.race([work, over.then(late)]).finally(() => timer?.clear());
}

/** Waits at most `ms` for `work`. @returns whether it resolved in time. @throws what `work` rejects with */
export const within = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  withTimeout(
    ms,
    work.then(() => true),
    () => false,
  );

/** Resolves after `ms` (null: never), or as soon as `signal` aborts. */
export function sleep(ms: number | null, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    let timer: Timer | null = null;
    const wake = () => {
      timer?.clear();
      signal.removeEventListener('abort', wake);
      resolve();
    };
    if (ms !== null) timer = startTimer(ms, wake);
    signal.addEventListener('abort', wake);
  });
}

/**
 * This machine's clock, except that it never goes back: timers that follow it would otherwise wait again.
 * @param wall milliseconds since 1970
 * @param monotonic milliseconds since any time; may pause while the machine sleeps
 * @returns a clock in milliseconds since 1970, which follows steps forward (also after sleep) but not back
 */
export function createForwardClock(wall = () => Date.now(), monotonic = () => performance.now()): () => number {
  let offsetMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = monotonic();
    offsetMs = Math.max(offsetMs, wall() - nowMs);
    return Math.round(nowMs + offsetMs);
  };
}

/** Shared abort reason that nobody reads. Constructing a DOMException per abort dominated a profile. */
export const notNeeded = new Error('no longer needed');

export type InterruptionCause = 'timeout' | 'cancelled';
/** Ends a run early, at its timeout or when its result is no longer needed. */
export type Interruption = {
  /** The first cause; null until it happens. */
  readonly cause: InterruptionCause | null;
  /** Never rejects. Stays pending if nothing happens. */
  readonly happened: Promise<InterruptionCause>;
  /** Stops the clock and the listener. Call it at the end of every run. */
  clear(): void;
};

/** Starts the clock now. An aborted signal counts at once. */
export function createInterruption(timeoutMs: number, signal: AbortSignal): Interruption {
  let cause: InterruptionCause | null = null;
  let resolveHappened: (cause: InterruptionCause) => void = () => {};
  const happened = new Promise<InterruptionCause>((resolve) => {
    resolveHappened = resolve;
  });
  const interrupt = (by: InterruptionCause) => {
    cause ??= by;
    resolveHappened(cause);
  };
  const onAbort = () => interrupt('cancelled');
  const timer = startTimer(timeoutMs, () => interrupt('timeout'));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return {
    get cause() {
      return cause;
    },
    happened,
    clear() {
      timer.clear();
      signal.removeEventListener('abort', onAbort);
    },
  };
}
