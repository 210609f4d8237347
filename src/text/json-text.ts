/** JSON that foreign programs write or people read. Imports nothing, because programs that must start fast load it. */

/** Parses JSON. Returns null for invalid text. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Makes JSON safe for a terminal. JSON does not escape the control characters U+007F to U+009F or bidirectional marks.
 * U+009B starts an escape sequence, and the marks reverse the rest of a line. With these, agents could attack the
 * terminal of a person who reads a log or `--json`.
 */
export const escapeControls = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
