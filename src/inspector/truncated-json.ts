/** An agent's text may be a megabyte: the page gets its beginning, and the whole entry on request. */

const textCharsMax = 4_000;

/** JSON with long texts truncated. Each carries a mark, by which the page offers to load the rest. */
export const toTruncatedJson = (value: unknown): string =>
  // A function that is called for each of 100,000 values would take most of the time.
  hasLongText(value) ? JSON.stringify(value, (_key, part: unknown) => truncate(part)) : JSON.stringify(value);

const isLong = (part: unknown): part is string => typeof part === 'string' && part.length > textCharsMax;

const truncate = (part: unknown): unknown =>
  isLong(part)
    ? `${part.slice(0, textCharsMax)}… [truncated: ${part.length.toLocaleString('en')} characters in total]`
    : part;

function hasLongText(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isLong(value);
  return (Array.isArray(value) ? value : Object.values(value)).some(hasLongText);
}
