/** An agent's text may be a megabyte: the page gets its beginning, and the whole entry on request. */

const textCharsMax = 4_000;

/** JSON with long texts truncated. Each carries a mark, by which the page offers to load the rest. */
export const toTruncatedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' && part.length > textCharsMax
      ? `${part.slice(0, textCharsMax)}… [truncated: ${part.length.toLocaleString('en')} characters in total]`
      : part,
  );
