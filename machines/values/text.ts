/** The length of texts, in code points. */

/** Whether `text` has more than `lengthMax` code points. Reads no further than it must. */
export function isLonger(text: string, lengthMax: number): boolean {
  if (text.length <= lengthMax) return false;
  if (text.length > 2 * lengthMax) return true;
  let length = 0;
  for (const _ of text) length += 1;
  return length > lengthMax;
}

/** At most `lengthMax` code points: of a longer text the middle is left out, where `…` stands. */
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

/** Whether a surrogate pair begins at this index. */
const isPair = (text: string, at: number): boolean =>
  (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;

/** How many bytes `text` has in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // A pair of surrogates is four bytes in all.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}
