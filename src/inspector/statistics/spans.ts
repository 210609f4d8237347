/** The time spans of the statistics. Imports no schemas, so that the page stays small. */

export const spans = {
  hour: { bucketMs: 60_000, count: 60 },
  day: { bucketMs: 900_000, count: 96 },
  week: { bucketMs: 7_200_000, count: 84 },
} as const;
export type Span = keyof typeof spans;
export const spanNames = Object.keys(spans) as Span[];
export const spanMs = (span: Span): number => spans[span].bucketMs * spans[span].count;

/** Milliseconds since 1970; `toMs` is exclusive. */
export type TimeRange = { readonly fromMs: number; readonly toMs: number };
/** Maximum length of a custom range: a month. It is read in one request and takes no more memory than a week. */
export const rangeMsMax = 31 * 24 * 3_600_000;

/** Stands for all checks, models or tasks beyond the maximum. Not a valid check name. */
export const others = '(others)';
