/**
 * Browsers allow six connections to a host, and each fleet's stream holds one. So only some may be open at once: the
 * others wait, and requests still find a connection. The Web Locks of the origin count them.
 */
const streamsMax = 4;

export type StreamSlot = {
  /** @returns whether a stream may be opened; true again while the slot is held */
  take(): Promise<boolean>;
  free(): void;
};

export function createStreamSlot(): StreamSlot {
  let release: (() => void) | null = null;
  const tryLock = (name: string) =>
    new Promise<boolean>((tell) => {
      const hold = (lock: Lock | null) => {
        tell(lock !== null);
        return lock === null
          ? undefined
          : new Promise<void>((done) => {
              release = done;
            });
      };
      navigator.locks.request(name, { ifAvailable: true }, hold).catch(() => tell(true));
    });
  return {
    async take() {
      // Browsers have locks where a page is encrypted or of this machine.
      if (release !== null || navigator.locks === undefined) return true;
      for (let slot = 1; slot <= streamsMax; slot += 1) if (await tryLock(`stopgate.stream.${slot}`)) return true;
      return false;
    },
    free() {
      release?.();
      release = null;
    },
  };
}
