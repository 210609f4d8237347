/** Reads YAML into plain JSON and keeps positions, so that every fault has a line and a column. */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  parseDocument,
  visit,
} from 'yaml';
import type { Locate, Path, Position } from './problems.ts';

/** `isEmpty`: contains nothing except comments. */
type Yaml =
  | { readonly ok: true; readonly value: unknown; readonly isEmpty: boolean; readonly locate: Locate }
  | { readonly ok: false; readonly problems: readonly (Position & { readonly message: string })[] };

/** Entries of the log are limited to 64 KiB. The rest is for comments and commands. */
const charactersMax = 131_072;
/** More than a person reads at a time. */
export const problemsMax = 50;
/** Maximum expansion by aliases, against a "billion laughs" file. */
const aliasesMax = 100;
/** The deepest valid structure, a condition in four nested groups, has 14 levels. */
const depthMax = 32;
/** A level takes up to two entries of the parser's stack. */
const parserDepthMax = 4 * depthMax;

/** Strict YAML 1.2: one document, no unknown tags, all keys strings. An empty document is an empty map. */
export function readYaml(text: string): Yaml {
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  if (text.length > charactersMax) {
    const message = `the file has ${text.length} characters; the limit is ${charactersMax}`;
    return { ok: false, problems: [{ line: 1, column: 1, message }] };
  }
  const foreign = findForeignEncoding(text);
  if (foreign !== null)
    return { ok: false, problems: [{ ...positionIn(text, foreign.offset), message: foreign.message }] };
  if (isNestedTooDeep(text)) return { ok: false, problems: [{ ...positionAt(0), message: tooDeep }] };
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    resolveKnownTags: false,
  });
  const faults = [...document.errors, ...document.warnings]
    .slice(0, problemsMax)
    .map(({ code, message, pos: [offset] }) => ({
      ...positionAt(offset),
      message:
        code === 'DUPLICATE_KEY'
          ? `key ${describeKey(document, offset)} appears twice`
          : code === 'MULTIPLE_DOCS'
            ? 'a second document begins here; remove it, or merge both'
            : inPlainWords(message),
    }));
  if (faults.length > 0) return { ok: false, problems: faults };
  const locate: Locate = (path, part = 'value') => positionAt(offsetOf(document, path, part));
  const expanded = expandAliases(document, positionAt);
  if (!expanded.ok) return expanded;
  return { ok: true, value: expanded.value ?? {}, isEmpty: expanded.value == null, locate };
}

/**
 * Detects a text that was not UTF-8: other bytes were decoded as U+FFFD, and a UTF-16 byte order mark as two of them.
 * @returns null if there is no sign of another encoding
 */
function findForeignEncoding(text: string): { offset: number; message: string } | null {
  if (text.startsWith('\uFFFD\uFFFD') || text.includes('\0'))
    return { offset: 0, message: 'the file is UTF-16 or not a text; save it as UTF-8' };
  const offset = text.indexOf('\uFFFD');
  return offset < 0 ? null : { offset, message: 'not UTF-8; save the file as UTF-8' };
}

function positionIn(text: string, offset: number): Position {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Rewrites the parser's most common messages, which use terms of its grammar. */
const plainWords: readonly (readonly [RegExp, string])[] = [
  [/^Flow (?:sequence|map) in block .* end with a (.)$/, '"$1" is missing before this, or this is not indented enough'],
  [/^Nested mappings are not allowed in compact mappings$/, 'a second ": " in one line; put the value in quotes'],
  [/^Implicit map keys need to be followed by map values$/, '":" is missing after this key'],
  [/^All (?:mapping|sequence) items must start .*$/, 'the indentation differs from the other lines of this block'],
  [/^Missing closing (.)quote$/, 'closing $1 is missing'],
  [/^Plain value cannot start with reserved character (.)$/, 'text that starts with $1 must be in quotes'],
  [/^With stringKeys, all keys must be strings$/, 'all keys must be strings'],
  [/^Unexpected flow-(?:map|seq)-end token .*"(.)"$/, 'unexpected "$1"'],
];

const inPlainWords = (message: string): string =>
  plainWords.reduce((text, [pattern, plain]) => text.replace(pattern, plain), message);

const tooDeep = `nested more than ${depthMax} levels deep, or an alias contains itself`;

/** Reads token by token, because the document parser recurses and could overflow the stack. */
function isNestedTooDeep(text: string): boolean {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    for (const _whole of parser.next(lexeme));
    if (parser.stack.length > parserDepthMax) return true;
  }
  return false;
}

function describeKey(document: Document, offset: number): string {
  let name = '';
  visit(document, {
    Scalar: (key, node) => {
      if (key === 'key' && node.range?.[0] === offset) name = String(node.value);
    },
  });
  return JSON.stringify(name);
}

type Expanded = { readonly ok: true; readonly value: unknown } | Extract<Yaml, { ok: false }>;

function expandAliases(document: Document, positionAt: (offset: number) => Position): Expanded {
  const faults: (Position & { message: string })[] = [];
  const anchors = new Set<string>();
  let first = 0;
  visit(document, (role, node) => {
    if (isNode(node) && !isAlias(node) && node.anchor !== undefined) anchors.add(node.anchor);
    if (isScalar(node) && role === 'key' && node.value === '__proto__') {
      faults.push({ ...positionAt(startOf(node)), message: 'key "__proto__" is not allowed' });
    }
    if (!isAlias(node)) return;
    const offset = startOf(node);
    first ||= offset;
    if (anchors.has(node.source)) return;
    faults.push({ ...positionAt(offset), message: `alias *${node.source} has no anchor &${node.source} before it` });
  });
  if (faults.length > 0) return { ok: false, problems: faults.slice(0, problemsMax) };
  try {
    const value: unknown = document.toJS({ maxAliasCount: aliasesMax });
    if (!isDeeper(value, depthMax)) return { ok: true, value };
    return { ok: false, problems: [{ ...positionAt(first), message: tooDeep }] };
  } catch (error) {
    if (!(error instanceof ReferenceError) && !(error instanceof RangeError)) throw error;
    const message = `aliases expand the text more than ${aliasesMax} times`;
    return { ok: false, problems: [{ ...positionAt(first), message }] };
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

function offsetOf(document: Document, path: Path, part: 'key' | 'value'): number {
  let node = document.contents as Node | null;
  let key = startOf(node); // offset of the key of `node`, or of the list item
  for (const segment of path) {
    const holder = isAlias(node) ? node.resolve(document) : node;
    const pair = isMap(holder) ? holder.items.find((item) => isPairOf(item, segment)) : undefined;
    const item = isSeq(holder) ? (holder.items[Number(segment)] as Node | undefined) : undefined;
    if (pair === undefined && item === undefined) return key;
    node = pair === undefined ? (item as Node) : (pair.value as Node | null);
    key = startOf(pair === undefined ? node : (pair.key as Node));
  }
  const written = node?.range !== undefined && node?.range !== null && node.range[1] > node.range[0];
  return part === 'key' || !written ? key : startOf(node);
}

const isPairOf = ({ key }: Pair, segment: PropertyKey) => isScalar(key) && String(key.value) === String(segment);
const startOf = (node: Node | null) => node?.range?.[0] ?? 0;
