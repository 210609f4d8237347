/** Compares the output of a command with a page. Volatile figures are ignored, and `…` matches omitted text. */

/** A command of a console fence (the text after `$ `) and the output that the page shows. */
export type Shown = { readonly line: number; readonly command: string; readonly output: readonly string[] };

/** @param line the line number of the fence's first line */
export function readConsole(text: string, line: number): Shown[] {
  const shown: { line: number; command: string; output: string[] }[] = [];
  for (const [index, each] of text.split('\n').entries()) {
    if (each.startsWith('$ ')) shown.push({ line: line + index, command: each.slice(2), output: [] });
    else if (shown.length > 0) shown.at(-1)?.output.push(each);
    else throw new Error(`line ${line + index}: a console begins with "$ " and a command`);
  }
  return shown;
}

/** Returns the first shown line that was not printed, or null if all were. */
export function firstDifference(output: readonly string[], printed: string): string | null {
  const shown = output.map((line) => line.replace(/\s{2,}# .*$/, '')).filter((line) => line.trim() !== '');
  const actual = printed
    .split('\n')
    .map(steady)
    .filter((line) => line !== '');
  let at = 0;
  let mayPass = false;
  for (const line of shown) {
    if (line.trim() === '…') {
      mayPass = true;
      continue;
    }
    const pattern = patternOf(line);
    const found = mayPass ? actual.findIndex((it, index) => index >= at && pattern.test(it)) : at;
    if (found < 0 || !pattern.test(actual[found] ?? '')) return line;
    at = found + 1;
    mayPass = false;
  }
  return mayPass || at >= actual.length || shown.length === 0 ? null : `nothing more, but: ${actual[at]}`;
}

const patternOf = (line: string): RegExp => new RegExp(`^${steady(line).split('…').map(escapeForPattern).join('.*')}$`);

const escapeForPattern = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Times, sequence numbers and the width of columns differ from run to run. */
const steady = (line: string): string =>
  line
    .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '<at>')
    .replaceAll(/\b\d{2}:\d{2}:\d{2}(\.\d+)?\b/g, '<clock>')
    .replaceAll(/\b\d+(\.\d+)? ?(ms|s|m|h)\b/g, '<time>')
    .replaceAll(/\bseq([ -])\d+/g, 'seq$1<n>')
    .replaceAll(/#\d+/g, '#<n>')
    .replaceAll(/\br-[0-9a-f]{8}\b/g, '<replica>')
    .replaceAll(/\s+/g, ' ')
    .trim();
