/**
 * The log's time, seen from this machine: its clock minus the difference to the entries' times. It is the server's, and
 * stands still where that was set back, until the server's clock is where it was (docs/operations/failures.md).
 */
import type { Fleet } from '../../../machines/index.ts';

export type LogClock = {
  /** Milliseconds since 1970. What an entry that came now would be folded at: never before the last one. */
  now(): number;
  /** The time that the server would give to an entry now. Before `now()` if its clock was set back. */
  server(): number;
  /** Returns how long ago `atMs` was, in milliseconds; by this machine's clock while the log's time stands still. */
  since(atMs: number): number;
  /** An entry that was stored at `atMs` has just come in. Only at the head, where entries come at once. */
  observe(atMs: number): void;
};

/** A longer difference is believed this fast: a shorter one counts at once, since a delivery can only lengthen it. */
const driftShare = 0.05;

/** Clocks of a cluster's servers may differ by this much when another one becomes the leader. */
const setBackMsMin = 2_000;

/** @param onSetBack once for each time: the log's clock stands still, for as many milliseconds as the server's was set back */
export function createLogClock(fleet: Fleet, clock: () => number, onSetBack: (byMs: number) => void): LogClock {
  /** The server's clock was set back this far; 0: it has caught up. */
  let setBackMs = 0;
  /** This machine's clock minus the server's, the delivery included. Null: no entry has come in yet. */
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
      // No delivery explains a time that went back.
      const isStep = isBehind && seenMs >= skewMs + setBackMsMin;
      skewMs = isStep || seenMs < skewMs ? seenMs : skewMs + (seenMs - skewMs) * driftShare;
    },
  };
}
