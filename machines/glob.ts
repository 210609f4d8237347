/**
 * Globs over file paths: `*` and `?` within one folder, `**` across folders (zero or more), everything else as it is.
 * A pattern comes from policies and hooks and a path from an agent, so matching never backtracks: its time grows with
 * path length times pattern length (256 at most), whatever either holds.
 */
import { z } from 'zod';

const globLengthMax = 256;
export const globSchema = z.string().min(1).max(globLengthMax);

type Token = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'one' | 'run' | 'folders' | 'rest' };

export function matchesGlob(glob: string, path: string): boolean {
  const tokens = tokenize(glob);
  // reached[i]: the first i tokens match what has been read so far.
  let reached = skipEmpty(tokens, new Array<boolean>(tokens.length + 1).fill(false).with(0, true), true);
  for (const char of normalize(path)) {
    const next = new Array<boolean>(tokens.length + 1).fill(false);
    for (const [index, token] of tokens.entries()) {
      if (!reached[index]) continue;
      if (token.kind === 'text' && token.text === char) next[index + 1] = true;
      if (token.kind === 'one' && char !== '/') next[index + 1] = true;
      if (token.kind === 'run' && char !== '/') next[index] = true;
      if (token.kind === 'rest' || token.kind === 'folders') next[index] = true;
    }
    reached = skipEmpty(tokens, next, char === '/');
  }
  return reached[tokens.length] === true;
}

/** `run` and `rest` also match nothing; `folders` ends only where a name begins. */
function skipEmpty(tokens: readonly Token[], reached: boolean[], atName: boolean): boolean[] {
  for (const [index, token] of tokens.entries()) {
    const skips = token.kind === 'run' || token.kind === 'rest' || (token.kind === 'folders' && atName);
    if (reached[index] && skips) reached[index + 1] = true;
  }
  return reached;
}

function tokenize(glob: string): Token[] {
  const tokens: Token[] = [];
  for (let rest = normalize(glob); rest !== ''; ) {
    if (rest.startsWith('**/')) {
      tokens.push({ kind: 'folders' });
      rest = rest.slice(3);
    } else if (rest.startsWith('**')) {
      tokens.push({ kind: 'rest' });
      rest = rest.slice(2);
    } else {
      const char = String.fromCodePoint(rest.codePointAt(0) as number);
      tokens.push(char === '*' ? { kind: 'run' } : char === '?' ? { kind: 'one' } : { kind: 'text', text: char });
      rest = rest.slice(char.length);
    }
  }
  return tokens;
}

const normalize = (path: string) => path.replace(/^(\.\/)+/, '');
