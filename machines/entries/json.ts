/** Reads payloads as JSON, and inspects JSON text without parsing it. */
import { jsonDepthMax } from '../values/limits.ts';

type JsonRead =
  | { readonly ok: true; readonly value: object }
  | { readonly ok: false; readonly code: 'NOT_JSON' | 'BAD_SHAPE'; readonly message: string };

/** A decision embeds the findings of its checks, so it nests deeper than the entries that reported them. */
const readDepthMax = 2 * jsonDepthMax;

/**
 * Parses a JSON object; '' means `{}`. Rejects values nested deeper than `depthMax`, so the result can be walked or
 * stringified without overflowing the stack.
 * @param what names the text in the error message
 */
export function readJson(text: string, what = 'the payload', depthMax = readDepthMax): JsonRead {
  if (text === '' || text === '{}') return { ok: true, value: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (isTextTooDeep(text, depthMax)) return { ok: false, code: 'BAD_SHAPE', message: tooDeepMessage };
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ok: true, value };
    return { ok: false, code: 'NOT_JSON', message: `${what} is JSON but not an object` };
  } catch (error) {
    return { ok: false, code: 'NOT_JSON', message: `${what} is not JSON: ${(error as Error).message}` };
  }
}

export const tooDeepMessage = `objects and arrays may nest ${jsonDepthMax} deep`;

export function isTooDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth >= jsonDepthMax) return true;
  for (const member of Object.values(value)) if (isTooDeep(member, depth + 1)) return true;
  return false;
}

/** Like `isTooDeep`, for JSON text. Scanning the text is faster than walking the parsed value. */
export function isTextTooDeep(text: string, depthMax = jsonDepthMax): boolean {
  // Each level takes at least two characters.
  if (text.length <= 2 * depthMax) return false;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === quote) index = endOfString(text, index);
    // `[` and `{`, `]` and `}`: each pair differs in one bit.
    else if ((unit | 0x20) === 0x7b) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if ((unit | 0x20) === 0x7d) depth -= 1;
  }
  return false;
}

/**
 * Tells whether this JSON text may hold more than `valuesMax` values. It bounds memory: a value can be as
 * short as two bytes of text, but takes about a hundred bytes in memory.
 */
export function hasMoreValues(text: string, valuesMax: number): boolean {
  if (text.length <= valuesMax) return false;
  let count = 1;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === quote) index = endOfString(text, index);
    else if (unit === comma || (unit | 0x20) === 0x7b) {
      count += 1;
      if (count > valuesMax) return true;
    }
  }
  return false;
}

/**
 * Returns the source text of the member `name` of a valid JSON object, or null if there is none. With duplicate names
 * the last one wins, as in `JSON.parse`.
 */
export function memberText(json: string, name: string): string | null {
  let found: string | null = null;
  let key = '';
  let start: number | null = null;
  let depth = 0;
  const endMember = (end: number) => {
    if (start !== null && key === name) found = json.slice(start, end).trim();
    start = null;
  };
  for (let index = 0; index < json.length; index += 1) {
    const unit = json.charCodeAt(index);
    if (unit === quote) {
      const end = endOfString(json, index);
      if (depth === 1 && start === null) key = JSON.parse(json.slice(index, end + 1));
      index = end;
    } else if ((unit | 0x20) === 0x7b) depth += 1;
    else if ((unit | 0x20) === 0x7d) {
      if (depth === 1) endMember(index);
      depth -= 1;
    } else if (depth !== 1) continue;
    else if (unit === colon) start = index + 1;
    else if (unit === comma) endMember(index);
  }
  return found;
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;

/** Returns the index of the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
