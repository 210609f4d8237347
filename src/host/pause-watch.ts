/**
 * Notices that this process did not run for a while (SIGSTOP, a machine that slept, a blocked event loop): what was
 * stored meanwhile must be folded before anything is done. Timers and messages that were waiting come in any order, so
 * whoever acts asks first.
 */
export type PauseWatch = {
  /** The process did not run for longer than `pauseMsMax` since it was last seen running. */
  hasPaused(): boolean;
  /** Notes that the process runs. */
  reset(): void;
  /** Calls `onPause` after a pause that nobody has asked about. */
  open(onPause: () => void): void;
  close(): void;
};

const tickMs = 250;
/** Shorter than a takeover, which takes two pings half a second apart. */
const pauseMsMax = 1_000;

export function createPauseWatch(clock: () => number): PauseWatch {
  let seenMs = clock();
  let timer: NodeJS.Timeout | null = null;
  // A clock that is set back may hide a pause, so that counts as one.
  const hasPaused = () => Math.abs(clock() - seenMs) > pauseMsMax;
  const reset = () => {
    seenMs = clock();
  };
  return {
    hasPaused,
    reset,
    open(onPause) {
      reset();
      timer ??= setInterval(() => {
        if (hasPaused()) onPause();
        reset();
      }, tickMs).unref();
    },
    close() {
      if (timer !== null) clearInterval(timer);
    },
  };
}
