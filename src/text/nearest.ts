/** Suggests the word that somebody meant. */

/** Returns null if more than half of the letters differ from every known word. Ignores case, `_` and `-`. */
export function nearestOf(word: string, known: readonly string[]): string | null {
  const plain = (text: string) => text.toLowerCase().replace(/[_-]/g, '');
  const ranked = known
    .map((name) => ({ name, distance: editDistance(plain(word), plain(name)) }))
    .filter(({ name, distance }) => distance * 2 <= Math.max(word.length, name.length))
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.name ?? null;
}

/** Levenshtein distance: letters inserted, deleted or replaced. Compares at most 64 letters of `from`. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from.slice(0, 64)].entries()) {
    const next = [index + 1];
    for (const [column, wanted] of [...to].entries()) {
      const replaced = (row[column] as number) + (letter === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] as number) + 1, (next[column] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}
