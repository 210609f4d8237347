/**
 * Text for a terminal. Names, prompts and outputs come from agents and may contain escape sequences that move the
 * cursor, change the title or disguise text, so everything printed for people goes through `clean` first.
 */
import { stripVTControlCharacters } from 'node:util';
import type { Decision } from '../../machines/index.ts';

// Control characters (C0, DEL, C1), bidirectional marks, zero-width characters and line separators.
const unsafe = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** Returns one line without escape sequences and control characters. Line ends and tabs become spaces. */
export const clean = (text: string): string =>
  stripVTControlCharacters(text)
    .replace(/[\t\r\n\u2028\u2029]+/g, ' ')
    .replace(unsafe, '');

/** Cleans a text line by line. */
export const cleanLines = (text: string): string[] =>
  stripVTControlCharacters(text)
    .split(/\r?\n/)
    .map((line) => clean(line).trimEnd());

/** Width on a terminal: 0 for combining marks, 2 for wide scripts and emoji. */
export function widthOf(text: string): number {
  let width = 0;
  for (const char of text) width += columnsOf(char);
  return width;
}

function columnsOf(char: string): number {
  if (char < '\u0300') return 1;
  if (/\p{M}/u.test(char)) return 0;
  return wide.test(char) ? 2 : 1;
}
const wide =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

/** Shortens a text to `width` columns, ending in `…` if something was cut. */
export function cut(text: string, width: number): string {
  if (text.length * 2 <= width || widthOf(text) <= width) return text;
  let kept = '';
  let used = 1;
  for (const char of text) {
    used += columnsOf(char);
    if (used > width) break;
    kept += char;
  }
  return width < 1 ? '' : `${kept.trimEnd()}…`;
}

export const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** Wraps a text at spaces. Cuts words that are too long. An infinite width wraps nothing. */
export function wrap(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (widthOf(longer) <= width) line = longer;
    else {
      if (line !== '') lines.push(line);
      line = cut(word, width);
    }
  }
  return line === '' ? lines : [...lines, line];
}

/** `1 file`, `2 files` */
export const formatCount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** `block · continue · incomplete` */
export const describeAnswer = ({ decision, action, cause }: Decision): string => `${decision} · ${action} · ${cause}`;

/**
 * Paints an answer. Only complete is green: capped, bypassed and similar causes are not a success. Blue means not
 * judged, and magenta escalated, like the state.
 */
export function paintAnswer({ decision, action, cause }: Decision, colors: Colors): (text: string) => string {
  if (action === 'escalate') return colors.magenta;
  if (decision === 'block') return colors.red;
  if (cause === 'unjudged') return colors.blue;
  return cause === 'complete' || cause === 'no-policy' ? colors.green : colors.yellow;
}

type Paint = (text: string) => string;
export type Colors = Readonly<Record<keyof typeof codes, Paint>>;

/** SGR parameters to turn the attribute on and off. */
const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  /** Bright blue. Normal blue is hard to read on black. */
  blue: [94, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const;

export function createColors(isOn: boolean): Colors {
  const paints = Object.entries(codes).map(([name, [on, off]]): [string, Paint] => [
    name,
    isOn ? (text) => `\u001b[${on}m${text}\u001b[${off}m` : (text) => text,
  ]);
  return Object.fromEntries(paints) as Colors;
}

/** The alternate screen without a cursor. Leaving it restores the previous screen. */
export const enterScreen = '\u001b[?1049h\u001b[?25l';
export const leaveScreen = '\u001b[?25h\u001b[?1049l';
/** Draws lines from the top of the screen and clears the rest. */
export const repaint = (lines: readonly string[]): string =>
  `\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`;
