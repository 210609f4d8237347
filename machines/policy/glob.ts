/**
 * Globs over file paths: `*` and `?` match within one folder, `**` across zero or more folders, everything else matches
 * literally. Patterns and paths are untrusted, so matching never backtracks: the positions that a path may have reached
 * in a glob are the bits of a few words (Baeza-Yates and Gonnet's Shift-And). Each character costs one step per word,
 * and steps are counted.
 */
import { globLengthMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';

export const globSchema = textSchema(globLengthMax).min(1);

/** The cost in steps of compiling a glob, and of comparing both ends of a path. */
const globSteps = 1_000;
const pathSteps = 4;

/** Tells whether the glob matches any of the paths; null if the work was used up first. */
export function matchesAny(glob: string, lists: readonly (readonly string[])[], work: Work): boolean | null {
  const known = work.matches.get(glob);
  if (known !== undefined) return known;
  if (work.left < 0) return null;
  work.left -= globSteps;
  if (work.left < 0) return null;
  const compiled = compile(tokenize(glob));
  for (const paths of lists) {
    for (const path of paths) {
      work.left -= pathSteps;
      if (work.left < 0) return null;
      if (!mayMatch(compiled, path) || !matches(compiled, normalize(path), work)) continue;
      if (work.left < 0) return null;
      work.matches.set(glob, true);
      return true;
    }
  }
  if (work.left < 0) return null;
  work.matches.set(glob, false);
  return false;
}

/** Returns a predicate for paths that match any glob. Not limited in steps; the cost is linear in the lengths. */
export function matchGlobs(globs: readonly string[]): (path: string) => boolean {
  const compiled = globs.map((glob) => compile(tokenize(glob)));
  const work: Work = { left: Number.POSITIVE_INFINITY, matches: new Map() };
  return (path) => compiled.some((glob) => mayMatch(glob, path) && matches(glob, normalize(path), work));
}

/**
 * Returns a matcher for texts other than paths, such as commands: `*` and `?` match `/` too. It returns null once the
 * work is used up.
 */
export function textMatcher(glob: string, work: Work): (text: string) => boolean | null {
  if (work.left >= 0) work.left -= globSteps;
  const compiled = work.left < 0 ? null : compile(tokenizeText(glob), true);
  return (text) => {
    if (compiled === null || work.left < 0) return null;
    work.left -= pathSteps;
    if (!mayMatch(compiled, text)) return false;
    const found = matches(compiled, text, work);
    return work.left < 0 ? null : found;
  };
}

/** Quick test, because most paths already differ at one end. */
const mayMatch = ({ start, end }: Compiled, path: string): boolean =>
  path.endsWith(end) && (path.startsWith(start) || path.startsWith('./'));

type Kind = 'text' | 'one' | 'run' | 'folders' | 'rest';
/** `text`: one character for kind `text`, otherwise ''. */
type Token = { readonly kind: Kind; readonly text: string };

/** Bit i stands for token i. In the reached set, bit i means that the first i tokens match the text read so far. */
type Bits = Int32Array;
type ReadonlyBits = Readonly<Record<number, number>>;
type Compiled = {
  /** The literal text before the first wildcard, and after the last. */
  readonly start: string;
  readonly end: string;
  readonly length: number;
  readonly words: number;
  /** The literal tokens that each character matches: consecutive rows for ASCII, and a map for others. */
  readonly ascii: Bits;
  readonly others: ReadonlyMap<number, Bits>;
  readonly kinds: Readonly<Record<Kind, Bits>>;
};

const asciiEnd = 128;
const nothing: ReadonlyBits = new Int32Array((globLengthMax >> 5) + 1);

/** @param isText whether `?` also matches a slash */
function compile(tokens: readonly Token[], isText = false): Compiled {
  const words = (tokens.length >> 5) + 1;
  const bits = () => new Int32Array(words);
  const kinds = { text: bits(), one: bits(), run: bits(), folders: bits(), rest: bits() };
  const ascii = new Int32Array(asciiEnd * words);
  const others = new Map<number, Bits>();
  for (const [index, { kind, text }] of tokens.entries()) {
    add(kinds[kind], index);
    if (kind === 'one' && isText) add(ascii, index + slash * words * 32);
    if (kind !== 'text') continue;
    const code = text.codePointAt(0) as number;
    if (code < asciiEnd) add(ascii, index + code * words * 32);
    else others.set(code, add(others.get(code) ?? bits(), index));
  }
  const start = literal(tokens).join('');
  const end = literal(tokens.toReversed()).reverse().join('');
  return { start, end, length: tokens.length, words, ascii, others, kinds };
}

function add(bits: Bits, index: number): Bits {
  bits[index >> 5] = (bits[index >> 5] as number) | (1 << (index & 31));
  return bits;
}

function literal(tokens: readonly Token[]): string[] {
  const end = tokens.findIndex((token) => token.kind !== 'text');
  return (end < 0 ? tokens : tokens.slice(0, end)).map((token) => token.text);
}

/** The result is meaningless if the work was used up. */
const matches = (glob: Compiled, path: string, work: Work): boolean =>
  glob.words === 1 ? matchesInWord(glob, path, work) : matchesInWords(glob, path, work);

/** Fast path: most globs fit into one word. */
function matchesInWord({ kinds, ascii, others, length }: Compiled, path: string, work: Work): boolean {
  const [one = 0, run = 0, folders = 0, rest = 0] = [kinds.one[0], kinds.run[0], kinds.folders[0], kinds.rest[0]];
  let reached = 1 | ((1 & folders) << 1);
  reached |= (reached & (run | rest)) << 1;
  for (let index = 0; index < path.length; index += 1) {
    work.left -= 1;
    if (work.left < 0) return false;
    const code = path.codePointAt(index) as number;
    if (code > 0xffff) index += 1;
    const text = (code < asciiEnd ? ascii[code] : others.get(code)?.[0]) ?? 0;
    if (code === slash) {
      reached = ((reached & text) << 1) | (reached & (folders | rest));
      // Folder wildcards can only match nothing right after a slash.
      reached |= (reached & folders) << 1;
    } else reached = ((reached & (text | one)) << 1) | (reached & (folders | rest | run));
    if (reached === 0) return false;
    reached |= (reached & (run | rest)) << 1;
  }
  return (reached & (1 << length)) !== 0;
}

function matchesInWords(glob: Compiled, path: string, work: Work): boolean {
  const { folders, run, rest } = glob.kinds;
  const reached = new Int32Array(glob.words);
  reached[0] = 1;
  skip(reached, folders, folders);
  skip(reached, run, rest);
  for (let index = 0; index < path.length; index += 1) {
    work.left -= glob.words;
    if (work.left < 0) return false;
    const code = path.codePointAt(index) as number;
    if (code > 0xffff) index += 1;
    if (!advance(glob, reached, code)) return false;
    if (code === slash) skip(reached, folders, folders);
    skip(reached, run, rest);
  }
  return ((reached[glob.length >> 5] as number) & (1 << (glob.length & 31))) !== 0;
}

const slash = 0x2f;

/** Reads one character. @returns whether any position is still reached */
function advance({ words, ascii, others, kinds: { one, run, folders, rest } }: Compiled, reached: Bits, code: number) {
  const texts = code < asciiEnd ? ascii : (others.get(code) ?? nothing);
  const from = code < asciiEnd ? code * words : 0;
  const inName = code === slash ? 0 : -1;
  let carry = 0;
  let any = 0;
  for (let word = 0; word < words; word += 1) {
    const held = reached[word] as number;
    const passed = held & ((texts[from + word] as number) | ((one[word] as number) & inName));
    const loops = (folders[word] as number) | (rest[word] as number) | ((run[word] as number) & inName);
    const next = (passed << 1) | carry | (held & loops);
    carry = passed >>> 31;
    reached[word] = next;
    any |= next;
  }
  return any !== 0;
}

/** Skips tokens that can match nothing. No two such tokens are adjacent, so one shift is enough. */
function skip(reached: Bits, some: Bits, others: Bits): void {
  let carry = 0;
  for (let word = 0; word < reached.length; word += 1) {
    const held = reached[word] as number;
    const empty = held & ((some[word] as number) | (others[word] as number));
    reached[word] = held | (empty << 1) | carry;
    carry = empty >>> 31;
  }
}

/** Splits a glob into tokens. Drops tokens whose neighbour already matches the same texts. */
function tokenize(glob: string): Token[] {
  const tokens: Token[] = [];
  for (let rest = normalize(glob); rest !== ''; ) {
    if (rest.startsWith('**/') && tokens.at(-1)?.kind === 'rest') tokens.pop();
    const last = tokens.at(-1)?.kind;
    if (rest.startsWith('**/')) {
      if (last !== 'folders') tokens.push({ kind: 'folders', text: '' });
      rest = rest.slice(3);
    } else if (rest.startsWith('**')) {
      if (last !== 'rest') tokens.push({ kind: 'rest', text: '' });
      rest = rest.slice(2);
    } else {
      const char = String.fromCodePoint(rest.codePointAt(0) as number);
      const kind = char === '*' ? 'run' : char === '?' ? 'one' : 'text';
      if (kind !== 'run' || last !== 'rest') tokens.push({ kind, text: kind === 'text' ? char : '' });
      rest = rest.slice(char.length);
    }
  }
  return tokens;
}

/** Like `tokenize` for `textMatcher`: `*` matches anything, and nothing is normalised. */
function tokenizeText(glob: string): Token[] {
  const tokens: Token[] = [];
  for (const char of glob) {
    if (char !== '*') tokens.push({ kind: char === '?' ? 'one' : 'text', text: char === '?' ? '' : char });
    else if (tokens.at(-1)?.kind !== 'rest') tokens.push({ kind: 'rest', text: '' });
  }
  return tokens;
}

const normalize = (path: string) => (path.startsWith('./') ? path.replace(/^(\.\/)+/, '') : path);

/**
 * Limits the cost of an evaluation, because untrusted hooks and files decide how much there is to match. Work is
 * counted in steps, not timed, so that it ends at the same step on all replicas. `left`: the remaining steps.
 * `matches`: whether each glob matched any of the files.
 */
export type Work = { left: number; readonly matches: Map<string, boolean> };

/**
 * About two milliseconds, spent at most twice in a stop. Enough to match 5,000 paths of 35 characters with a glob that
 * begins and ends with `*`.
 */
export const workMax = 200_000;

export const createWork = (left = workMax): Work => ({ left, matches: new Map() });

export const tooMuchWork = 'matching its files exceeded the step limit of an evaluation';
