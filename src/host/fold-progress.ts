/** How far the log is folded, and who waits for the fold to get further. */
import { type LogPosition, positionOf } from '../nats/log-position.ts';
import type { LogMessage } from '../nats/log-reader.ts';

export type FoldProgress = {
  /** The last entry that was folded; 0: none. */
  readonly seq: number;
  /** What stands there; null: nothing was folded. It proves later that the log is still the one that was folded. */
  position(): LogPosition | null;
  /** Resolves when everything up to `seq` is folded, or when nothing more will be. */
  until(seq: number): Promise<void>;
  advance(message: LogMessage): void;
  /** Nothing more will be folded: lets everyone go on, and find out why. */
  release(): void;
};

/** `start`: where the state begins that the fold continues; null: before the first entry. */
export function createFoldProgress(start: LogPosition | null = null): FoldProgress {
  let foldedSeq = start?.seq ?? 0;
  let folded: LogPosition | null = start;
  /** Its position is only computed when it is asked for. */
  let newest: LogMessage | null = null;
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
    async until(seq) {
      if (seq <= foldedSeq) return;
      await new Promise<void>((resolve) => {
        waiting.push({ seq, resolve });
        waiting.sort((a, b) => a.seq - b.seq);
      });
    },
    advance(message) {
      newest = message;
      foldedSeq = message.seq;
      while (waiting.length > 0 && (waiting[0]?.seq ?? 0) <= foldedSeq) waiting.shift()?.resolve();
    },
    release() {
      for (const { resolve } of waiting.splice(0)) resolve();
    },
  };
}
