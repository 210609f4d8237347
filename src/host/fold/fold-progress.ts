/** Keeps how far the log is folded, and who waits for the fold to get further. */

import type { LogMessage } from '../../nats/log/log-reader.ts';
import { type LogPosition, positionOf } from '../../nats/log/log-reader.ts';

export type FoldProgress = {
  /** The last entry that was folded; 0: none. */
  readonly seq: number;
  /** The position of that entry; null: nothing was folded. It proves later that the log is still the same. */
  position(): LogPosition | null;
  /** When the entry at `seq` was stored, if it is one of the last that were folded here; else null. */
  timeOf(seq: number): number | null;
  /** Resolves when everything up to `seq` is folded, or when nothing more will be. */
  until(seq: number): Promise<void>;
  advance(message: LogMessage): void;
  /** Nothing more will be folded: lets everyone go on, and find out why. */
  release(): void;
};

/** Enough for a read barrier, which needs an entry that was the newest a round trip ago. */
const timesKept = 1_024;

/** `start`: the position that the fold continues from; null: before the first entry. */
export function createFoldProgress(start: LogPosition | null = null): FoldProgress {
  let foldedSeq = start?.seq ?? 0;
  let folded: LogPosition | null = start;
  let isReleased = false;
  /** Its position is computed only when needed. */
  let newest: LogMessage | null = null;
  /** Ring buffer of the times of the last `timesKept` entries, by sequence number. */
  const times = new Float64Array(timesKept);
  /** In the order of `seq`. */
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
      // 0: a gap that was accepted.
      return (isKept ? times[seq % timesKept] : 0) || null;
    },
    async until(seq) {
      if (isReleased || seq <= foldedSeq) return;
      await new Promise<void>((resolve) => {
        // Nearly always it is the last one.
        waiting.splice(waiting.findLastIndex((it) => it.seq <= seq) + 1, 0, { seq, resolve });
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
