/** JSON that others wrote or will read. Imports nothing, since programs that must start fast load it. */

/** Parses text that others wrote. Null: it is not JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * JSON that is safe on a terminal. JSON leaves the control characters from U+007F to U+009F and the marks that change the
 * direction of writing as they are. U+009B begins an escape sequence, and a mark makes the rest of the line read
 * backwards: agents could write to the terminal of whoever reads a log or `--json`.
 */
export const escapeControls = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
