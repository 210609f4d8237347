/** Replaces control, invisible and direction-changing characters in untrusted text with visible names. */

const invisible =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this matches
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

const names: Readonly<Record<number, string>> = { 0: 'NUL', 7: 'BEL', 8: 'BS', 13: 'CR', 27: 'ESC', 127: 'DEL' };

export const visible = (text: string): string =>
  text.replace(invisible, (char, index: number) => {
    const code = char.codePointAt(0) ?? 0;
    if ((code === 0x200c || code === 0x200d) && joins(text, index)) return char;
    return `⟨${names[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`}⟩`;
  });

const scripts = [
  'Arabic',
  'Syriac',
  'Mongolian',
  'Devanagari',
  'Bengali',
  'Gurmukhi',
  'Gujarati',
  'Oriya',
  'Tamil',
  'Telugu',
  'Kannada',
  'Malayalam',
  'Sinhala',
  'Khmer',
  'Tibetan',
  'Myanmar',
];
const letter = `[${scripts.map((script) => `\\p{scx=${script}}`).join('')}]`;
const pictograph = '\\p{Extended_Pictographic}';
const joined = [
  [new RegExp(`${letter}$`, 'u'), new RegExp(`^${letter}`, 'u')],
  // An alternation instead of a character class, because Chromium 156 does not match a trailing modifier in a class.
  [new RegExp(`${pictograph}(?:\\ufe0f|\\p{Emoji_Modifier})?$`, 'u'), new RegExp(`^${pictograph}`, 'u')],
] as const;

/** Joiners (U+200C, U+200D) are legitimate between emoji and between letters of scripts that use them (UAX #31). */
function joins(text: string, index: number): boolean {
  const [before, after] = [text.slice(Math.max(0, index - 4), index), text.slice(index + 1, index + 3)];
  return joined.some(([left, right]) => left.test(before) && right.test(after));
}
