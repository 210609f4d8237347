/** The log's time, seen from this machine: its clock minus the difference to the entries' times. */
import type { Fleet } from '../../machines/index.ts';

export type LogClock = {
  /** Milliseconds since 1970. Deadlines are compared with it. Never before the last entry. */
  now(): number;
  /** An entry that was stored at `atMs` has just come in. Only at the head, where entries come at once. */
  observe(atMs: number): void;
};

/** How fast a longer difference is believed: a shorter one counts at once, since a delivery can only lengthen it. */
const driftShare = 0.05;

/** Servers of a cluster may differ by as much, when another one begins to lead. */
const setBackMsMin = 2_000;

/** @param onSetBack once for each time: the log's clock stands still, for as many milliseconds as the server's was set back */
export function createLogClock(fleet: Fleet, clock: () => number, onSetBack: (byMs: number) => void): LogClock {
  let isBehind = false;
  /** This machine's clock minus the log's, the delivery included. Null: no entry has come in yet. */
  let skewMs: number | null = null;
  return {
    now: () => Math.max(fleet.nowMs, Math.round(clock() - (skewMs ?? 0))),
    observe(atMs) {
      const behindMs = fleet.nowMs - atMs;
      if (behindMs >= setBackMsMin && !isBehind) onSetBack(behindMs);
      isBehind = behindMs >= setBackMsMin;
      const seenMs = clock() - atMs;
      skewMs = skewMs === null || seenMs < skewMs ? seenMs : skewMs + (seenMs - skewMs) * driftShare;
    },
  };
}
