/** Tracks how far the log is folded, and the callers that wait for the fold to reach an entry. */

import type { LogMessage } from '../../nats/log/log-reader.ts';
import { type LogPosition, positionOf } from '../../nats/log/log-reader.ts';

export type FoldProgress = {
  /** Sequence number of the last folded entry; 0 before the first. */
  readonly seq: number;
  /** The position of that entry, or null before the first. Used later to prove that the log is still the same one. */
  position(): LogPosition | null;
  /** Returns when entry `seq` was stored, or null if it is not among the last entries folded here. */
  timeOf(seq: number): number | null;
  /** Resolves when everything up to `seq` is folded, or after `release`. */
  until(seq: number): Promise<void>;
  advance(message: LogMessage): void;
  /** Called when nothing more will be folded. Resolves all waits; the callers then find out why. */
  release(): void;
};

/** A read barrier needs the time of an entry that was the newest one round trip ago. */
const timesKept = 1_024;

/** @param start the position that the fold continues from, or null to start before the first entry */
export function createFoldProgress(start: LogPosition | null = null): FoldProgress {
  let foldedSeq = start?.seq ?? 0;
  let folded: LogPosition | null = start;
  let isReleased = false;
  /** The last folded message, until its position is needed: computing it takes time. */
  let newest: LogMessage | null = null;
  /** Ring buffer of the times of the last `timesKept` entries, by sequence number. */
  const times = new Float64Array(timesKept);
  /** Sorted by `seq`. */
  const waiting: { readonly seq: number; readonly resolve: () => void }[] = [];
  return {
    get seq() {
      return foldedSeq;
    },
    position() {
      if (newest !== null) folded = positionOf(newest);
      newest = null;
      return folded;
    },
    timeOf(seq) {
      const isKept = seq > Math.max(foldedSeq - timesKept, start?.seq ?? 0) && seq <= foldedSeq;
      // 0 marks a gap in the sequence numbers.
      return (isKept ? times[seq % timesKept] : 0) || null;
    },
    async until(seq) {
      if (isReleased || seq <= foldedSeq) return;
      await new Promise<void>((resolve) => {
        // Searched from the end, where the new one nearly always belongs.
        waiting.splice(waiting.findLastIndex((earlier) => earlier.seq <= seq) + 1, 0, { seq, resolve });
      });
    },
    advance(message) {
      newest = message;
      for (let seq = foldedSeq + 1; seq < message.seq && seq > message.seq - timesKept; seq += 1)
        times[seq % timesKept] = 0;
      times[message.seq % timesKept] = message.atMs;
      foldedSeq = message.seq;
      while (waiting.length > 0 && (waiting[0]?.seq ?? 0) <= foldedSeq) waiting.shift()?.resolve();
    },
    release() {
      isReleased = true;
      for (const { resolve } of waiting.splice(0)) resolve();
    },
  };
}
