/**
 * Timers of any length. Those of Node fire at once beyond 2^31 - 1 ms (24.8 days), so a longer wait is taken in steps.
 * A duration that comes from a configuration, a caller or the wire becomes a timer here and nowhere else.
 */

/** The longest wait of one timer of Node. */
export const timerMsMax = 2 ** 31 - 1;

export type Timer = { clear(): void };

/** Calls `onDue` once after `ms`; what is below 0 counts as 0. */
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

/** Timers of one length. */
export type TimerQueue = { start(onDue: () => void): Timer };

/**
 * One timer of Node for all waits of `ms`, which nearly always end early: to begin and to end one costs no more than a
 * place in a list. It keeps no process alive.
 */
export function createTimerQueue(ms: number): TimerQueue {
  // In the order of their ends, since all are as long; the list begins and ends at `ends`.
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

/** A member of a list of timers: in one, to begin and to end costs no memory but its own. */
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

  /** Takes it out of its list. */
  clear(): void {
    this.#before.#after = this.#after;
    this.#after.#before = this.#before;
    this.#before = this;
    this.#after = this;
  }
}

export type TimedSignal = Timer & { readonly signal: AbortSignal };

/** A signal that is aborted after `ms`, unless it is cleared before: an `AbortSignal.timeout` of any length. */
export function startTimedSignal(ms: number): TimedSignal {
  const abort = new AbortController();
  const { clear } = startTimer(ms, () => abort.abort(notNeeded));
  return { signal: abort.signal, clear };
}

/** Waits for `work`, but no longer than `ms`; then for `late`, which may throw. @throws what `work` rejects with */
export async function inTime<Result, Late>(
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

/** Waits for `work`, but no longer than `ms`. @returns whether it was done in that time. @throws what `work` rejects with */
export const within = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  inTime(
    ms,
    work.then(() => true),
    () => false,
  );

/** Resolves after `ms`, or as soon as `signal` is aborted. Null: only then. */
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
 * Gives this machine's clock, but it never goes back: otherwise, timers that follow it would wait for that long again.
 * @param wall milliseconds since 1970
 * @param monotonic milliseconds since any time; it may stand still while the machine sleeps
 * @returns a clock in milliseconds since 1970. A step forward (also the end of a sleep) is followed, one back is not.
 */
export function createForwardClock(wall = () => Date.now(), monotonic = () => performance.now()): () => number {
  let offsetMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = monotonic();
    offsetMs = Math.max(offsetMs, wall() - nowMs);
    return Math.round(nowMs + offsetMs);
  };
}

/** The reason of every abort that nobody reads. Constructing a DOMException per abort dominated a profile. */
export const notNeeded = new Error('nobody waits for this any more');

// Ends a run early: at its timeout, or when nobody needs the answer any more.

export type InterruptionCause = 'timeout' | 'cancelled';
export type Interruption = {
  /** Null until it happens; the first cause stays. */
  readonly cause: InterruptionCause | null;
  /** Never rejects. Pending for ever if nothing happens. */
  readonly happened: Promise<InterruptionCause>;
  /** Stops the clock and forgets the signal. Call it at the end of every run. */
  clear(): void;
};

/** The clock starts now. A signal that is aborted already counts. */
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
