/** Decodes JSON bodies of foreign programs. Imports nothing, because the hook command loads it at each call. */

/**
 * Decodes UTF-8, or UTF-16 if a byte order mark or zero bytes show it: some shells write that into a pipe. Removes byte
 * order marks; some programs add a second one.
 */
export function decodeBody(body: Uint8Array): string {
  return new TextDecoder(encodingOf(body)).decode(body).replace(/^\ufeff+/, '');
}

function encodingOf([first, second, third, fourth]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  // JSON begins with two ASCII characters.
  if (first !== undefined && first !== 0 && second === 0 && fourth === 0) return 'utf-16le';
  return first === 0 && second !== undefined && second !== 0 && third === 0 ? 'utf-16be' : 'utf-8';
}

/** Replaces NaN and Infinity, which Python and others write, with null. Leaves strings alone. */
export const withoutBareNumbers = (json: string): string =>
  json.replaceAll(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (found) => (found.startsWith('"') ? found : 'null'));
