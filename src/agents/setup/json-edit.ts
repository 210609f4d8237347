/**
 * Adds nodes to JSON text and removes them again. All other bytes stay: comments, order, indents, line ends. When we
 * fill a list or object that existed and was empty, a space after its bracket marks it, so that the removal keeps it.
 * Containers that we created never have that space, even after an agent has rewritten the file.
 */
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';

export type Position = { readonly line: number; readonly column: number };

/** @throws SyntaxProblem */
export function parseJson(text: string): Node {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) throw new SyntaxProblem(toText(printParseErrorCode(first.error)), first.offset);
  if (root === undefined) throw new SyntaxProblem('it is empty', 0);
  return root;
}

/** The value of a JSON text, which may begin with a byte order mark. @throws SyntaxProblem */
export const readJson = (text: string): unknown => getNodeValue(parseJson(text.replace(/^\uFEFF/, '')));

/** A problem at an offset of the text. Callers convert the offset with `positionOf`. */
export class SyntaxProblem extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

export function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

/** `CommaExpected` → `comma expected` */
const toText = (code: string): string => code.replaceAll(/(?!^)([A-Z])/g, ' $1').toLowerCase();

/**
 * The property of an object.
 * @throws SyntaxProblem for a duplicate key, because readers disagree on which one counts
 */
export function propertyOf(object: Node | undefined, key: string): Node | undefined {
  const found = (object?.children ?? []).filter((property) => property.children?.[0]?.value === key);
  if (found.length > 1) throw new SyntaxProblem(`the key "${key}" appears twice`, found[1]?.offset ?? 0);
  return found[0];
}

export const childOf = (property: Node | undefined): Node | undefined => property?.children?.[1];

/** Adds a property (with `key`) or an item (without) at the end of a container. */
export function append(text: string, container: Node, key: string | null, value: unknown): string {
  const style = styleOf(text);
  const outer = indentAt(text, container.offset);
  const last = container.children?.at(-1);
  const inner = last !== undefined && startsLine(text, last.offset) ? indentAt(text, last.offset) : outer + style.unit;
  const body = layOut(value, key === null ? 0 : 1, style.unit).replaceAll('\n', style.eol + inner);
  const rendered = key === null ? body : `${JSON.stringify(key)}: ${body}`;
  if (last === undefined) return splice(text, container.offset + 1, 0, ` ${rendered} `);
  const lastEnd = last.offset + last.length;
  const comma = commaAfter(text, lastEnd);
  // A comment on the same line belongs to the preceding item.
  const from = comma === null ? lastEnd : comma + 1;
  const insertAt = from + (/^(?:[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/))*/.exec(text.slice(from))?.[0].length ?? 0);
  const added = splice(text, insertAt, 0, style.eol + inner + rendered + (comma === null ? '' : ','));
  return comma === null ? splice(added, lastEnd, 0, ',') : added;
}

/**
 * Removes a node from its container, and the container too if we created it for this node. Returns null if nothing is
 * left of a file that we created.
 */
export function remove(text: string, node: Node): string | null {
  const container = node.parent;
  if (container === undefined) return null;
  if (container.type === 'property') return remove(text, container);
  const siblings = container.children ?? [];
  const end = node.offset + node.length;
  if (siblings.length === 1) {
    if (text.slice(container.offset + 1, node.offset) !== ' ') return remove(text, container);
    return splice(text, node.offset - 1, node.length + (text[end] === ' ' ? 2 : 1), '');
  }
  const start = text.slice(0, node.offset).trimEnd().length;
  const comma = commaAfter(text, end);
  const before = siblings[siblings.indexOf(node) - 1];
  if (comma !== null) {
    // The original had a trailing comma on the line of the closing bracket, and `append` inserted a line in between.
    const isAddedLine =
      before !== undefined && startsLine(text, node.offset) && /^[ \t]*[\]}]/.test(text.slice(comma + 1));
    if (isAddedLine && !endsInLineComment(text.slice(before.offset + before.length, start)))
      return splice(text, start, comma + 1 - start, '');
    // The rest of the line must not move behind a line comment that precedes the node.
    const blanks = /^[ \t]*(?=[^ \t\r\n])/.exec(text.slice(comma + 1));
    const from = blanks === null ? start : node.offset;
    return splice(text, from, comma + 1 + (blanks?.[0].length ?? 0) - from, '');
  }
  const without = splice(text, start, end - start, '');
  const commaBefore = before === undefined ? null : commaAfter(text, before.offset + before.length);
  return commaBefore === null ? without : splice(without, commaBefore, 1, '');
}

/** Renders a whole file, in the form by which `remove` recognises that we created it. */
export const render = (value: unknown): string => `${layOut(value, 2, '  ')}\n`;

/** Puts the properties of the outer `depth` levels on separate lines and the rest on one line. */
function layOut(value: unknown, depth: number, unit: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => layOut(item, 0, unit)).join(', ')}]`;
  const parts = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${layOut(item, depth - 1, unit)}`);
  if (parts.length === 0) return '{}';
  if (depth < 1) return `{ ${parts.join(', ')} }`;
  return `{\n${parts.map((part) => unit + part.replaceAll('\n', `\n${unit}`)).join(',\n')}\n}`;
}

const splice = (text: string, offset: number, length: number, insert: string): string =>
  text.slice(0, offset) + insert + text.slice(offset + length);

/** @param between the text between two items, which contains no string literals */
const endsInLineComment = (between: string): boolean =>
  (
    between
      .replaceAll(/\/\*[\s\S]*?\*\//g, '')
      .split('\n')
      .at(-1) ?? ''
  ).includes('//');

/** The offset of the next comma after blanks and comments, or null. */
function commaAfter(text: string, offset: number): number | null {
  const between = /^(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*(?=,)/.exec(text.slice(offset));
  return between === null ? null : offset + between[0].length;
}

function styleOf(text: string): { eol: string; unit: string } {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return { eol, unit: /^[ \t]+(?=\S)/m.exec(text)?.[0] ?? '  ' };
}

const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1;
const startsLine = (text: string, offset: number): boolean => text.slice(lineStart(text, offset), offset).trim() === '';

/** The indent of the line that contains this offset. */
const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(lineStart(text, offset)))?.[0] ?? '';
