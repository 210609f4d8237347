/**
 * Text for a terminal. Names, prompts and outputs come from agents and may try to move the cursor, change the title
 * or look like something else: whatever is printed for people goes through `clean` first.
 */
import { stripVTControlCharacters } from 'node:util';
import type { Decision } from '../../machines/index.ts';

// Controls (C0, DEL, C1), marks that change the direction of writing, zero-width and line separating characters.
const unsafe = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** One line without escape sequences and control characters; line ends and tabs become a space. */
export const clean = (text: string): string =>
  stripVTControlCharacters(text)
    .replace(/[\t\r\n\u2028\u2029]+/g, ' ')
    .replace(unsafe, '');

/** Cleans a text line by line. */
export const cleanLines = (text: string): string[] =>
  stripVTControlCharacters(text)
    .split(/\r?\n/)
    .map((line) => clean(line).trimEnd());

/** Columns on a terminal: none for combining marks, two for wide scripts and emoji. */
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

/** At most `width` columns; the last is `…` if something is cut. */
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

/** Broken at spaces so that no line is wider; a longer word is cut. An infinite width breaks no line. */
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
export const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? '' : 's'}`;

// The answer of a decision in one line.

/** `block · continue · incomplete` */
export const describeAnswer = ({ decision, action, cause }: Decision): string => `${decision} · ${action} · ${cause}`;

/**
 * Paints an answer. Only complete is green: capped, bypassed and the like are not a success. Blue: nothing was judged.
 * Magenta: escalated, as the state.
 */
export function paintAnswer({ decision, action, cause }: Decision, colors: Colors): (text: string) => string {
  if (action === 'escalate') return colors.magenta;
  if (decision === 'block') return colors.red;
  if (cause === 'unjudged') return colors.blue;
  return cause === 'complete' || cause === 'no-policy' ? colors.green : colors.yellow;
}

// Colours of a terminal, or none.

type Paint = (text: string) => string;
export type Colors = Readonly<Record<keyof typeof codes, Paint>>;

/** SGR parameters: on, and off again. */
const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  /** The bright one: the other is hard to read on black. */
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

/** The alternate screen of a terminal, without a cursor; leaving it gives back what stood there before. */
export const enterScreen = '\u001b[?1049h\u001b[?25l';
export const leaveScreen = '\u001b[?25h\u001b[?1049l';
/** Draws lines over what stands on the screen, and clears the rest of it. */
export const repaint = (lines: readonly string[]): string =>
  `\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`;
