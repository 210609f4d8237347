/** Requests that store something: they are taken while the log stores entries and there is a place for them. */
import type { Admission, Admitted, Holder } from './admission.ts';
import { type BarrierParts, catchUpInTime, notConnected, throwUnlessStarted } from './read-barrier.ts';

export type WriteGate = {
  /** Takes a place, which `leave` gives back. @throws AppError log.unavailable, log.lost, service.busy */
  enter(holder: Holder): void;
  leave(holder: Holder): void;
  /**
   * Waits out a short break of the connection; what is published meanwhile would only pile up in memory. Resolves once
   * the log is proved to be the one that is folded: after the break it may be an older copy. @throws AppError
   */
  reconnected(): Promise<void>;
  /** Holds a place for as long as `work` takes. @throws AppError as `enter` and `reconnected` do */
  run<Result>(request: Admitted, work: () => Promise<Result>): Promise<Result>;
};

export type WriteGateOptions = BarrierParts & {
  readonly bus: { connected(timeoutMs: number): Promise<boolean> };
  readonly admission: Admission;
  readonly entryTimeoutMs: number;
};

export function createWriteGate(options: WriteGateOptions): WriteGate {
  const { bus, admission, logHealth, entryTimeoutMs } = options;
  /** One request to the log for all who wait. */
  let reconnecting: Promise<void> | null = null;
  const reconnect = async () => {
    if (!(await bus.connected(entryTimeoutMs))) throw notConnected();
    await catchUpInTime(options);
  };
  const reconnected = (): Promise<void> => {
    reconnecting ??= reconnect().finally(() => {
      reconnecting = null;
    });
    return reconnecting;
  };
  const enter: WriteGate['enter'] = (holder) => {
    throwUnlessStarted(options);
    // While the log stores nothing, nothing is sent; `log-health.ts` tries it every 2 s.
    const fault = logHealth.fault();
    if (fault !== null) throw fault;
    admission.enter(holder);
  };
  return {
    enter,
    leave: admission.leave,
    reconnected,
    async run({ actor, key }, work) {
      // The entry may be stored although its caller hears nothing of it, so it does not give way.
      const holder: Holder = { actor, key, giveWay: () => false };
      enter(holder);
      try {
        if (!options.bus.isConnected()) await reconnected();
        return await work();
      } finally {
        admission.leave(holder);
      }
    },
  };
}
