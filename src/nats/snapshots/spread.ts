/** Which of a few places in the log to give up, so that the others cover it about evenly. */

/**
 * The one without which the gap is the smallest; never the last, which a log that grows starts from, nor, as long as there
 * are others, the first: of a log whose beginning was cut nothing else may cover what comes next.
 * @param kept in the order of the log, not empty @returns its index
 */
export function leastUseful(kept: readonly { readonly seq: number }[]): number {
  let [least, smallest] = [0, Number.POSITIVE_INFINITY];
  for (let at = 1; at < kept.length - 1; at += 1) {
    const gap = (kept[at + 1]?.seq ?? 0) - (kept[at - 1]?.seq ?? 0);
    if (gap < smallest) [least, smallest] = [at, gap];
  }
  return least;
}
