/** The times that the history of a fleet can show. Without schemas, so that the page can load it. */

export const spans = {
  hour: { bucketMs: 60_000, count: 60 },
  day: { bucketMs: 900_000, count: 96 },
  week: { bucketMs: 7_200_000, count: 84 },
} as const;
export type Span = keyof typeof spans;
export const spanNames = Object.keys(spans) as Span[];
export const spanMs = (span: Span): number => spans[span].bucketMs * spans[span].count;

/** Milliseconds since 1970; `toMs` is not in it. */
export type TimeRange = { readonly fromMs: number; readonly toMs: number };
/** A month: a report of it is read in one go, and what is kept of it stays as little as of a week. */
export const rangeMsMax = 31 * 24 * 3_600_000;

/** The name of all checks, models or tasks that count together because there are too many. No check can have it. */
export const others = '(others)';
