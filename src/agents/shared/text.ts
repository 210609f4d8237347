/** Text between agents and the log: cut at whole code points, without what a terminal would interpret. */
import { createHash } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';
import { isId } from '../../../machines/index.ts';

/** The first `max` UTF-16 units at most. */
export function firstChars(text: string, max: number): string {
  if (text.length <= max) return text;
  return text.slice(0, isHighSurrogate(text, max - 1) ? max - 1 : max);
}

/** The first `max` code points at most. Only so much of a long text is looked at. */
export function firstCodePoints(text: string, max: number): string {
  if (text.length <= max) return text;
  return [...text.slice(0, 2 * max)].slice(0, max).join('');
}

/** The last `max` bytes of UTF-8 at most. */
export function lastBytes(text: string, max: number): string {
  // A UTF-16 unit takes at least one byte, so only the last `max` units matter.
  const bytes = Buffer.from(text.slice(-max));
  let from = Math.max(0, bytes.length - max);
  while (((bytes[from] ?? 0) & 0b1100_0000) === 0b1000_0000) from += 1;
  return bytes.toString('utf8', from);
}

/** At most `max` UTF-16 units. Start and end are kept, since either may say what is to be done. */
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

/** Without escape sequences and control characters. Line ends become `\n`, tabs stay. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim();
}

/** A word as `sh` reads it back. */
export const shellWord = (word: string): string =>
  /^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** Ids made of an agent's own names. */
const keptMax = 100;

/**
 * `text` itself if it is an id. Otherwise its valid characters and a hash of the whole text, so that two names stay two
 * ids no matter what was cut or replaced.
 */
export function toId(text: string): string {
  if (isId(text)) return text;
  const kept = text
    .slice(0, keptMax)
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[_-]+/, '');
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${kept === '' ? 'id' : kept}-${hash}`;
}
