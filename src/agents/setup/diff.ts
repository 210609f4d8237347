/** The difference of two texts, for a person: changed lines with a little context. */
import { type DiffLine, diffLines } from '../../line-diff.ts';

/** `…`: lines that are the same are left out. */
export type ShownLine = DiffLine | { readonly sign: '…'; readonly text: '' };

const around = 2;

export function diffTexts(before: string, after: string): ShownLine[] {
  const [old, now] = [before, after].map((text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))) as [
    string[],
    string[],
  ];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const middle = diffLines(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ sign: ' ', text }));
  return shorten([...same(old.slice(0, head)), ...middle, ...same(old.slice(old.length - tail))]);
}

function shorten(lines: readonly DiffLine[]): ShownLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ sign }) => sign !== ' '),
  );
  return lines.flatMap((line, index): ShownLine[] => {
    if (isNear[index]) return [line];
    return isNear[index - 1] && isNear.includes(true, index) ? [{ sign: '…', text: '' }] : [];
  });
}
