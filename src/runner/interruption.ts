/** Ends a run early: at its timeout, or when nobody needs the answer any more. */
import { startTimer } from '../timer.ts';

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
