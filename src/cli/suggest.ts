/** "Did you mean": finds the nearest known word. It imports nothing, since every command line is read with it. */

/**
 * Returns the word that was meant; null if none is near. The beginning of a word is near; else up to a third of its
 * letters may be wrong, missing or swapped.
 */
export function suggest(word: string, known: readonly string[]): string | null {
  const begun = known.filter((each) => word.length > 1 && each.startsWith(word));
  if (begun[0] !== undefined) return begun[0];
  const ranked = known.map((each) => ({ each, away: distance(word, each) })).sort((a, b) => a.away - b.away);
  const [best] = ranked;
  return best !== undefined && best.away <= Math.max(1, Math.floor(best.each.length / 3)) ? best.each : null;
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const here = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const changed = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const best = Math.min(changed, (above[column] ?? 0) + 1, (here[column - 1] ?? 0) + 1);
      const swaps = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      here.push(swaps && row > 1 && column > 1 ? Math.min(best, (before[column - 2] ?? 0) + 1) : best);
    }
    before = above;
    above = here;
  }
  return above[b.length] ?? 0;
}
