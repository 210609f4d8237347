/** What an agent says may be a megabyte: the page gets its beginning, and the whole when somebody asks for it. */

const shownCharsMax = 4_000;

/** As JSON, with long texts cut; each says so itself. */
export const toCutJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' && part.length > shownCharsMax
      ? `${part.slice(0, shownCharsMax)}… [cut here: ${part.length.toLocaleString('en')} characters in all]`
      : part,
  );
