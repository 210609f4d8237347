/** Admits requests that store something, while the log accepts entries and a slot is free. */
import type { Admission, Holder, SlotRequest } from './admission.ts';
import { type BarrierParts, catchUpInTime, notConnected, throwUnlessStarted } from './read-barrier.ts';

export type WriteGate = {
  /** Takes a slot; `leave` frees it. @throws AppError log.unavailable, log.lost or service.busy */
  enter(holder: Holder): void;
  leave(holder: Holder): void;
  /**
   * Waits for a broken connection to come back, since entries published in the meantime would only pile up in memory.
   * Resolves once the log is verified to be the folded one: after the break it may be an older copy.
   * @throws AppError log.unavailable or log.lost
   */
  reconnected(): Promise<void>;
  /** Holds a slot while `work` runs. @throws as `enter` and `reconnected` do */
  run<Result>(request: SlotRequest, work: () => Promise<Result>): Promise<Result>;
};

export type WriteGateOptions = BarrierParts & {
  readonly bus: { connected(timeoutMs: number): Promise<boolean> };
  readonly admission: Admission;
  readonly entryTimeoutMs: number;
};

export function createWriteGate(options: WriteGateOptions): WriteGate {
  const { bus, admission, logHealth, entryTimeoutMs } = options;
  /** Shared by all callers that wait. */
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
    // Refuse while the log accepts nothing; `log-health.ts` probes it every 2 s.
    const fault = logHealth.fault();
    if (fault !== null) throw fault;
    admission.enter(holder);
  };
  return {
    enter,
    leave: admission.leave,
    reconnected,
    async run({ actor, key }, work) {
      // Not evictable: the caller could not know whether its entry was stored.
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
