/** How far the log is folded, and who waits for the fold to get further. */

export type FoldProgress = {
  /** The last entry that was folded; 0: none. */
  readonly seq: number;
  /** Resolves when everything up to `seq` is folded, or when nothing more will be. */
  until(seq: number): Promise<void>;
  advance(seq: number): void;
  /** Nothing more will be folded: lets everyone go on, and find out why. */
  release(): void;
};

export function createFoldProgress(): FoldProgress {
  let foldedSeq = 0;
  const waiting: { readonly seq: number; readonly resolve: () => void }[] = [];
  return {
    get seq() {
      return foldedSeq;
    },
    async until(seq) {
      if (seq <= foldedSeq) return;
      await new Promise<void>((resolve) => {
        waiting.push({ seq, resolve });
        waiting.sort((a, b) => a.seq - b.seq);
      });
    },
    advance(seq) {
      foldedSeq = seq;
      while (waiting.length > 0 && (waiting[0]?.seq ?? 0) <= foldedSeq) waiting.shift()?.resolve();
    },
    release() {
      for (const { resolve } of waiting.splice(0)) resolve();
    },
  };
}
