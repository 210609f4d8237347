/** The text of a JSON body that others sent. Imports nothing, since the hook command loads it at each call. */

/**
 * UTF-8, or UTF-16 where a mark or the zero bytes of its first signs show it: some shells write that into a pipe. A byte
 * order mark is no part of the text, and some programs put theirs before another's.
 */
export function bodyText(body: Uint8Array): string {
  return new TextDecoder(encodingOf(body)).decode(body).replace(/^\ufeff+/, '');
}

function encodingOf([first, second, third, fourth]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  // JSON begins with two signs of ASCII, or with one and a space.
  if (first !== undefined && first !== 0 && second === 0 && fourth === 0) return 'utf-16le';
  return first === 0 && second !== undefined && second !== 0 && third === 0 ? 'utf-16be' : 'utf-8';
}

/** Numbers that JSON has not, as Python and others write them, become null. Texts stay as they are. */
export const withoutBareNumbers = (json: string): string =>
  json.replaceAll(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (found) => (found.startsWith('"') ? found : 'null'));
