/** Cuts and cleans text that passes between agents and the log. Cuts never split a code point. */
import { createHash } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';
import { isId } from '../../../machines/index.ts';

/** At most the first `max` UTF-16 units. */
export function firstChars(text: string, max: number): string {
  if (text.length <= max) return text;
  return text.slice(0, isHighSurrogate(text, max - 1) ? max - 1 : max);
}

/** At most the first `max` code points. */
export function firstCodePoints(text: string, max: number): string {
  if (text.length <= max) return text;
  return [...text.slice(0, 2 * max)].slice(0, max).join('');
}

/** At most the last `max` bytes of UTF-8. */
export function lastBytes(text: string, max: number): string {
  // A UTF-16 unit takes at least one byte, so only the last `max` units matter.
  const bytes = Buffer.from(text.slice(-max));
  let from = Math.max(0, bytes.length - max);
  while (((bytes[from] ?? 0) & 0b1100_0000) === 0b1000_0000) from += 1;
  return bytes.toString('utf8', from);
}

/** At most `max` UTF-16 units, keeping the start and the end. */
export function cutMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const gap = '\n… (cut) …\n';
  const kept = max - gap.length;
  const headEnd = Math.ceil(kept / 2);
  const tailStart = text.length - Math.floor(kept / 2);
  const tail = text.slice(isHighSurrogate(text, tailStart - 1) ? tailStart + 1 : tailStart);
  return firstChars(text, headEnd) + gap + tail;
}

const isHighSurrogate = (text: string, index: number): boolean => (text.charCodeAt(index) & 0xfc00) === 0xd800;

/** Removes escape sequences and control characters, and trims. Line ends become `\n`; tabs stay. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim();
}

/** Quotes a word for `sh` if necessary. */
export const shellWord = (word: string): string =>
  /^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** Characters of a name that are kept in its id. */
const idCharsMax = 100;

/**
 * Converts a name to an id. Returns a valid id unchanged. Otherwise replaces invalid characters and appends a hash of
 * the whole text, so that different names stay different ids.
 */
export function toId(text: string): string {
  if (isId(text)) return text;
  const kept = text
    .slice(0, idCharsMax)
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[_-]+/, '');
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${kept === '' ? 'id' : kept}-${hash}`;
}
