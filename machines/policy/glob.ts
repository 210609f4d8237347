/**
 * Globs over file paths: `*` and `?` within one folder, `**` across folders (zero or more), everything else as it is.
 * A pattern comes from policies and hooks and a path from an agent, so matching never backtracks: its time grows with
 * path length times pattern length (256 at most), whatever either holds; and it is counted.
 */
import { globLengthMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';
import type { Work } from './work.ts';

export const globSchema = textSchema(globLengthMax).min(1);

/** `text`: one character; '' for what is no text. */
type Token = { readonly kind: 'text' | 'one' | 'run' | 'folders' | 'rest'; readonly text: string };

/** Does the glob match any of the paths? Null: the work is used up before that is known. */
export function matchesAny(glob: string, paths: readonly string[], work: Work): boolean | null {
  const known = work.matches.get(glob);
  if (known !== undefined) return known;
  const tokens = tokenize(glob);
  const [start, end] = [literal(tokens), literal(tokens.toReversed())];
  const last = [...end].reverse().join('');
  let matches = false;
  for (const path of paths) {
    work.left -= 1;
    // Most paths differ at one end already.
    const mayMatch = path.startsWith('./') || (path.startsWith(start) && path.endsWith(last));
    matches = mayMatch && matchesTokens(tokens, normalize(path), work);
    if (work.left < 0) return null;
    if (matches) break;
  }
  work.matches.set(glob, matches);
  return matches;
}

/** The text before the first part that is no text. */
function literal(tokens: readonly Token[]): string {
  const end = tokens.findIndex((it) => it.kind !== 'text');
  return (end < 0 ? tokens : tokens.slice(0, end)).map((it) => it.text).join('');
}

function matchesTokens(tokens: readonly Token[], path: string, work: Work): boolean {
  // reached[i]: the first i tokens match what has been read so far; none beyond `furthest`.
  let reached = new Uint8Array(tokens.length + 1);
  let next = new Uint8Array(tokens.length + 1);
  reached[0] = 1;
  let [nearest, furthest] = [0, skipEmpty(tokens, reached, 0, true)];
  for (const char of path) {
    work.left -= furthest - nearest + 1;
    if (work.left < 0) return false;
    next.fill(0);
    let [low, high] = [tokens.length + 1, -1];
    for (let index = nearest; index <= furthest && index < tokens.length; index += 1) {
      if (reached[index] === 0) continue;
      const { kind, text } = tokens[index] as Token;
      let to = -1;
      if (kind === 'text' ? text === char : kind === 'one' && char !== '/') to = index + 1;
      else if (kind === 'rest' || kind === 'folders' || (kind === 'run' && char !== '/')) to = index;
      if (to < 0) continue;
      next[to] = 1;
      low = Math.min(low, to);
      high = Math.max(high, to);
    }
    if (high < 0) return false;
    [nearest, furthest] = [low, skipEmpty(tokens, next, low, char === '/', high)];
    [reached, next] = [next, reached];
  }
  return reached[tokens.length] === 1;
}

/**
 * `run` and `rest` also match nothing; `folders` ends only where a name begins.
 * @returns the furthest that is reached
 */
function skipEmpty(tokens: readonly Token[], reached: Uint8Array, from: number, atName: boolean, to = from): number {
  let furthest = to;
  for (let index = from; index <= furthest && index < tokens.length; index += 1) {
    if (reached[index] === 0) continue;
    const { kind } = tokens[index] as Token;
    if (kind !== 'run' && kind !== 'rest' && !(kind === 'folders' && atName)) continue;
    reached[index + 1] = 1;
    furthest = Math.max(furthest, index + 1);
  }
  return furthest;
}

function tokenize(glob: string): Token[] {
  const tokens: Token[] = [];
  for (let rest = normalize(glob); rest !== ''; ) {
    if (rest.startsWith('**/')) {
      // Several in a row are one.
      if (tokens.at(-1)?.kind !== 'folders') tokens.push({ kind: 'folders', text: '' });
      rest = rest.slice(3);
    } else if (rest.startsWith('**')) {
      tokens.push({ kind: 'rest', text: '' });
      rest = rest.slice(2);
    } else {
      const char = String.fromCodePoint(rest.codePointAt(0) as number);
      const kind = char === '*' ? 'run' : char === '?' ? 'one' : 'text';
      tokens.push({ kind, text: kind === 'text' ? char : '' });
      rest = rest.slice(char.length);
    }
  }
  return tokens;
}

const normalize = (path: string) => path.replace(/^(\.\/)+/, '');
