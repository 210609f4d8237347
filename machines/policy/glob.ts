/**
 * Globs over file paths: `*` and `?` within one folder, `**` across folders (zero or more), everything else as it is.
 * A pattern comes from policies and hooks and a path from an agent, so matching never backtracks: its time grows with
 * path length times pattern length (256 at most), whatever either holds.
 */
import { globLengthMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';

export const globSchema = textSchema(globLengthMax).min(1);

/** `text`: one character; '' for what is no text. */
type Token = { readonly kind: 'text' | 'one' | 'run' | 'folders' | 'rest'; readonly text: string };

export function matchesGlob(glob: string, path: string): boolean {
  const tokens = tokenize(glob);
  // reached[i]: the first i tokens match what has been read so far.
  let reached = new Uint8Array(tokens.length + 1);
  let next = new Uint8Array(tokens.length + 1);
  reached[0] = 1;
  skipEmpty(tokens, reached, true);
  for (const char of normalize(path)) {
    next.fill(0);
    let alive = false;
    for (let index = 0; index < tokens.length; index += 1) {
      if (reached[index] === 0) continue;
      const { kind, text } = tokens[index] as Token;
      if (kind === 'text' ? text === char : kind === 'one' && char !== '/') next[index + 1] = 1;
      else if (kind === 'rest' || kind === 'folders' || (kind === 'run' && char !== '/')) next[index] = 1;
      else continue;
      alive = true;
    }
    if (!alive) return false;
    skipEmpty(tokens, next, char === '/');
    [reached, next] = [next, reached];
  }
  return reached[tokens.length] === 1;
}

/** `run` and `rest` also match nothing; `folders` ends only where a name begins. */
function skipEmpty(tokens: readonly Token[], reached: Uint8Array, atName: boolean): void {
  for (let index = 0; index < tokens.length; index += 1) {
    if (reached[index] === 0) continue;
    const { kind } = tokens[index] as Token;
    if (kind === 'run' || kind === 'rest' || (kind === 'folders' && atName)) reached[index + 1] = 1;
  }
}

function tokenize(glob: string): Token[] {
  const tokens: Token[] = [];
  for (let rest = normalize(glob); rest !== ''; ) {
    if (rest.startsWith('**/')) {
      tokens.push({ kind: 'folders', text: '' });
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
