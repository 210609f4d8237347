/** Payloads as JSON. */
import { jsonDepthMax } from '../values/limits.ts';

type JsonRead =
  | { readonly ok: true; readonly value: object }
  | { readonly ok: false; readonly code: 'NOT_JSON' | 'BAD_SHAPE'; readonly message: string };

/** A decision has a check's findings in it, so it nests deeper than the entry they came with. */
const readDepthMax = 2 * jsonDepthMax;

/**
 * An object in JSON, '' standing for `{}`. It never nests deeper than `depthMax`: whatever is read may be walked, or
 * made JSON again, without overflowing the stack.
 * @param what what the text is, for the message
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

/** Answers the same question for a JSON text: scanning the text is faster than walking the parsed value. */
export function isTextTooDeep(text: string, depthMax = jsonDepthMax): boolean {
  // A level takes two characters at least.
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
 * Tells whether JSON of this text may have more values than that: the shortest one takes two bytes, and a hundred in
 * memory.
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
 * The text of a member of an object, as it stands in `json`, which is valid; null: there is none of that name. The last
 * of several counts, as for `JSON.parse`.
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

/** Index of the quote that ends the string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
