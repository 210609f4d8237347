/**
 * What a person has accepted as gone from a log with `--accept-empty-log` (protocol.md §2). It does not cover later
 * losses.
 */

export type AcceptedGaps = {
  /** Entries up to here may be missing between others. 0: none may. */
  readonly toSeq: number;
  /** The log may begin here, though no snapshot covers what came before. 1: it may not. */
  readonly beginSeq: number;
};

export const nothingAccepted: AcceptedGaps = { toSeq: 0, beginSeq: 1 };

/**
 * Whether the entries from `fromSeq` to the one before `nextSeq` may be missing, in a log whose first entry is `firstSeq`
 * by now: what retention has removed in the meantime looks like a gap that was accepted.
 */
export function isGapAccepted(
  { toSeq, beginSeq }: AcceptedGaps,
  fromSeq: number,
  nextSeq: number,
  firstSeq: number,
): boolean {
  const isAtBeginning = firstSeq >= fromSeq;
  return nextSeq <= (isAtBeginning ? beginSeq : toSeq + 1);
}
