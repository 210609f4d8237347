/**
 * Estimates the log's time from this machine's clock and the timestamps of entries, which the NATS server sets. If the
 * server's clock is set back, the log's time does not move until the server has caught up
 * (docs/operations/failures.md).
 */
import type { Fleet } from '../../../machines/index.ts';

export type LogClock = {
  /** The time at which an entry stored now would be folded, in milliseconds since 1970. Never before the last entry. */
  now(): number;
  /** The timestamp that the server would give to an entry now. Before `now()` if its clock was set back. */
  server(): number;
  /** Returns the milliseconds since `atMs`. Uses this machine's clock while the log's time does not move. */
  since(atMs: number): number;
  /**
   * Learns from an entry that was stored at `atMs` and just arrived. Only at the head, where entries arrive without
   * delay.
   */
  observe(atMs: number): void;
};

/**
 * A larger difference between the clocks is adopted at this rate per entry. A smaller one is adopted at once, because
 * delivery can only enlarge it.
 */
const driftShare = 0.05;

/** The clocks of a cluster's servers may differ by this much, which shows when another server becomes the leader. */
const setBackMsMin = 2_000;

/**
 * @param onSetBack called once each time the server's clock is set back; the log's time then does not move for `byMs`
 */
export function createLogClock(fleet: Fleet, clock: () => number, onSetBack: (byMs: number) => void): LogClock {
  /** How far the server's clock was set back; 0 once it has caught up. */
  let setBackMs = 0;
  /** This machine's clock minus the server's, including the delivery time. Null before the first entry. */
  let skewMs: number | null = null;
  const server = () => Math.round(clock() - (skewMs ?? 0));
  return {
    now: () => Math.max(fleet.nowMs, server()),
    server,
    since: (atMs) => Math.max(fleet.nowMs, server() + setBackMs) - atMs,
    observe(atMs) {
      const behindMs = fleet.nowMs - atMs;
      const isBehind = behindMs >= setBackMsMin;
      if (isBehind && setBackMs === 0) onSetBack(behindMs);
      setBackMs = isBehind ? Math.max(setBackMs, behindMs) : 0;
      const seenMs = clock() - atMs;
      skewMs ??= seenMs;
      // Delivery time cannot explain a timestamp that went back.
      const isStep = isBehind && seenMs >= skewMs + setBackMsMin;
      skewMs = isStep || seenMs < skewMs ? seenMs : skewMs + (seenMs - skewMs) * driftShare;
    },
  };
}
