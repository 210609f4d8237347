/** The form of ids, by itself: the page checks names by it, and has no schemas. */

/** One subject token: a letter or digit, then up to 127 letters, digits, `_` or `-`. */
export const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

export const isId = (text: string): boolean => idPattern.test(text);
