/** Compares two lists of lines by their longest common subsequence. A moved line is removed and added. */

export type LineChange = { readonly sign: '+' | '-'; readonly text: string };
export type DiffLine = LineChange | { readonly sign: ' '; readonly text: string };

/** Larger comparisons report all lines as changed. */
const cellsMax = 4_000_000;

export function diffLines(old: readonly string[], now: readonly string[]): DiffLine[] {
  if (old.length * now.length > cellsMax)
    return [
      ...old.map((text): DiffLine => ({ sign: '-', text })),
      ...now.map((text): DiffLine => ({ sign: '+', text })),
    ];
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  const lengthAt = (row: number, column: number): number => lengths[row]?.[column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1)
    for (let column = now.length - 1; column >= 0; column -= 1) {
      const line = lengths[row] as Uint32Array;
      line[column] =
        old[row] === now[column]
          ? lengthAt(row + 1, column + 1) + 1
          : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1));
    }
  const lines: DiffLine[] = [];
  for (let row = 0, column = 0; row < old.length || column < now.length; ) {
    if (row < old.length && column < now.length && old[row] === now[column]) {
      lines.push({ sign: ' ', text: old[row] as string });
      row += 1;
      column += 1;
    } else if (column >= now.length || (row < old.length && lengthAt(row + 1, column) >= lengthAt(row, column + 1))) {
      lines.push({ sign: '-', text: old[row] as string });
      row += 1;
    } else {
      lines.push({ sign: '+', text: now[column] as string });
      column += 1;
    }
  }
  return lines;
}
