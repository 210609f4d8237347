/** The difference of two texts, for a person: changed lines with a little context. */

export type DiffLine = { readonly sign: ' ' | '+' | '-' | '…'; readonly text: string };

const around = 2;
/** Above this, only common lines at both ends are found. */
const cellsMax = 4_000_000;

export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [before, after].map((text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))) as [
    string[],
    string[],
  ];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const middle = between(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ sign: ' ', text }));
  return shorten([...same(old.slice(0, head)), ...middle, ...same(old.slice(old.length - tail))]);
}

/** By the longest common subsequence. */
function between(old: readonly string[], now: readonly string[]): DiffLine[] {
  if (old.length * now.length > cellsMax)
    return [
      ...old.map((text): DiffLine => ({ sign: '-', text })),
      ...now.map((text): DiffLine => ({ sign: '+', text })),
    ];
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  const at = (row: number, column: number): number => lengths[row]?.[column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1)
    for (let column = now.length - 1; column >= 0; column -= 1) {
      const line = lengths[row] as Uint32Array;
      line[column] =
        old[row] === now[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  const lines: DiffLine[] = [];
  for (let row = 0, column = 0; row < old.length || column < now.length; ) {
    if (row < old.length && column < now.length && old[row] === now[column]) {
      lines.push({ sign: ' ', text: old[row] as string });
      row += 1;
      column += 1;
    } else if (column >= now.length || (row < old.length && at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ sign: '-', text: old[row] as string });
      row += 1;
    } else {
      lines.push({ sign: '+', text: now[column] as string });
      column += 1;
    }
  }
  return lines;
}

function shorten(lines: readonly DiffLine[]): DiffLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ sign }) => sign !== ' '),
  );
  return lines.flatMap((line, index) =>
    isNear[index]
      ? [line]
      : isNear[index - 1] && isNear.includes(true, index)
        ? [{ sign: '…', text: '' } as const]
        : [],
  );
}
