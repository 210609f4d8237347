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
 * JSON that is safe on a terminal. JSON leaves the control characters from U+007F to U+009F as they are, and U+009B
 * begins an escape sequence: agents could write to the terminal of whoever reads a log or `--json`.
 */
export const escapeControls = (json: string): string =>
  json.replace(/[\u007f-\u009f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
