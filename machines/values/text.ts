/** Lengths of texts in code points and bytes, and JSON as text. */

/** Tells whether `text` has more than `lengthMax` code points. Stops reading as soon as it knows. */
export function isLonger(text: string, lengthMax: number): boolean {
  if (text.length <= lengthMax) return false;
  if (text.length > 2 * lengthMax) return true;
  let length = 0;
  for (const _ of text) length += 1;
  return length > lengthMax;
}

/** Shortens a text to `lengthMax` code points by replacing its middle with `…`. */
export function cutMiddle(text: string, lengthMax: number): string {
  if (!isLonger(text, lengthMax)) return text;
  const tail = Math.floor((lengthMax - 1) / 2);
  const head = lengthMax - 1 - tail;
  let end = 0;
  for (let count = 0; count < head; count += 1) end += isPair(text, end) ? 2 : 1;
  let start = text.length;
  for (let count = 0; count < tail; count += 1) start -= isPair(text, start - 2) ? 2 : 1;
  // `join` copies: a slice would keep the whole text in memory.
  return [text.slice(0, end), '…', text.slice(start)].join('');
}

/** Returns the first `lengthMax` code points. */
export const cutEnd = (text: string, lengthMax: number): string =>
  // `join` copies: a slice would keep the whole text in memory.
  isLonger(text, lengthMax) ? [...text.slice(0, 2 * lengthMax)].slice(0, lengthMax).join('') : text;

/** Tells whether a surrogate pair begins at this index. */
const isPair = (text: string, index: number): boolean =>
  (text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;

/** Returns the length of `text` in UTF-8, in bytes. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // A surrogate pair takes four bytes in total.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}

// Values of unknown shape are kept as JSON text: 64 KiB of text stay 64 KiB, but could take a megabyte as objects.

/** The JSON of a value, parsed only when it is shown. */
export type JsonText = string;

/** Undefined, which has no JSON, becomes null. */
export const toJsonText = (value: unknown): JsonText => JSON.stringify(value ?? null);

export const fromJsonText = (text: JsonText): unknown => JSON.parse(text);

/** The most bytes that one UTF-16 unit can take in JSON: `\uXXXX`. */
export const unitLengthMax = 6;
const numberLengthMax = 25;

/**
 * Returns an upper bound of the value's size as JSON in UTF-8. Uses the lengths of its texts, which is much faster than
 * writing the JSON. `Infinity` if the value has a `toJSON`.
 */
export function jsonLengthMax(value: unknown): number {
  if (typeof value === 'string') return unitLengthMax * value.length + 2;
  if (typeof value !== 'object' || value === null) return numberLengthMax;
  if ('toJSON' in value) return Number.POSITIVE_INFINITY;
  let length = 2;
  if (Array.isArray(value)) for (const item of value) length += jsonLengthMax(item) + 1;
  else
    for (const key of Object.keys(value))
      length += unitLengthMax * key.length + 4 + jsonLengthMax((value as Record<string, unknown>)[key]);
  return length;
}
