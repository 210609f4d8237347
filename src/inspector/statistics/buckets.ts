/** Counts in time buckets. Each span has a fixed number of buckets, of which the oldest are dropped. */
import { guardNames } from '../../../machines/index.ts';
import { addUsage, noUsage, type UsageSum } from '../../../machines/values/usage.ts';
import type { VerdictKind } from '../vocabulary.ts';
import { others, spans } from './spans.ts';

/** Durations are counted in classes whose bounds grow by 25%, so that memory does not depend on their number. */
const growth = Math.log(1.25);
/** The last class begins at about five days and takes all longer durations. */
const classesMax = 90;

/** The number of durations in each class. */
export type Durations = Map<number, number>;

export function addDuration(durations: Durations, ms: number): void {
  const found = ms <= 1 ? 0 : Math.min(classesMax, Math.ceil(Math.log(ms) / growth));
  durations.set(found, (durations.get(found) ?? 0) + 1);
}

export function mergeDurations(into: Durations, from: Durations): void {
  for (const [found, count] of from) into.set(found, (into.get(found) ?? 0) + count);
}

/** Returns the upper bound of the class of the quantile, at most 25% too high. Null without durations. */
export function quantileOf(durations: Durations, part: number): number | null {
  const total = [...durations.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let left = Math.ceil(total * part);
  for (const [found, count] of [...durations].sort(([a], [b]) => a - b)) {
    left -= count;
    if (left <= 0) return Math.round(Math.exp(found * growth));
  }
  return null;
}

/** The buckets of a span. They begin at multiples of `bucketMs`. */
export type Window = { readonly bucketMs: number; readonly count: number };
export type Windows = Readonly<Record<string, Window>>;

const [second, minute, hour] = [1_000, 60_000, 3_600_000];
const widths = [second, 5 * second, 15 * second, minute, 5 * minute, 15 * minute, hour, 2 * hour, 6 * hour];
/** Maximum number of bars in a chart of 300 pixels. Enough for a month in buckets of six hours. */
const bucketsMax = 125;

/** Returns the narrowest buckets that keep within `bucketsMax`. @param toMs end of the range, exclusive */
export function windowOf(fromMs: number, toMs: number): Window {
  const countOf = (bucketMs: number) => Math.floor((toMs - 1) / bucketMs) - Math.floor(fromMs / bucketMs) + 1;
  const bucketMs = widths.find((width) => countOf(width) <= bucketsMax) ?? 6 * hour;
  return { bucketMs, count: countOf(bucketMs) };
}

export type CheckCounts = {
  runs: number;
  passed: number;
  failed: number;
  /** Runs that timed out or could not start. */
  errors: number;
  readonly durations: Durations;
  /** How many of the `compared` pairs of results for unchanged work differ. */
  differing: number;
  compared: number;
  /** Number of stops blocked by this check. */
  blocks: number;
};
export type Bucket = {
  readonly verdicts: Record<VerdictKind, number>;
  /** Blocks by deciding guard. */
  readonly guards: Map<string, number>;
  checkMs: number;
  escalations: number;
  resolved: number;
  readonly resolveTimes: Durations;
  readonly checks: Map<string, CheckCounts>;
  usage: UsageSum;
  readonly models: UsageByName;
  readonly workers: UsageByName;
  readonly tasks: UsageByName;
};
/** All buckets of a span, including empty ones, oldest first. */
export type Counted = readonly { readonly atMs: number; readonly bucket: Bucket }[];
/** Usage by model, worker or task. The key null is usage without one. */
export type UsageByName = Map<string | null, UsageSum>;

/** Maximum number of checks per bucket. Further ones are counted together as `others`. */
const checksMax = 64;
/** Maximum number of models, workers and tasks per bucket. Further ones are counted together as `others`. */
const usageNamesMax = 256;
const knownGuards: ReadonlySet<string> = new Set([...guardNames, 'policy']);

const newBucket = (): Bucket => ({
  verdicts: { complete: 0, 'let-go': 0, escalated: 0, blocked: 0, unjudged: 0 },
  guards: new Map(),
  checkMs: 0,
  escalations: 0,
  resolved: 0,
  resolveTimes: new Map(),
  checks: new Map(),
  usage: noUsage,
  models: new Map(),
  workers: new Map(),
  tasks: new Map(),
});
export const newCheck = (): CheckCounts => ({
  runs: 0,
  passed: 0,
  failed: 0,
  errors: 0,
  durations: new Map(),
  differing: 0,
  compared: 0,
  blocks: 0,
});

/** Returns the counts of a check in a bucket, and creates them if needed. */
export function checkIn({ checks }: Bucket, name: string): CheckCounts {
  const key = checks.has(name) || checks.size < checksMax ? name : others;
  const found = checks.get(key) ?? newCheck();
  checks.set(key, found);
  return found;
}

/** The key under which a block by this guard is counted. */
export const guardKeyOf = (guard: string | null): string =>
  guard !== null && knownGuards.has(guard) ? guard : 'policy';

export function addBlock(bucket: Bucket, guard: string | null, checks: Iterable<string>): void {
  const key = guardKeyOf(guard);
  bucket.guards.set(key, (bucket.guards.get(key) ?? 0) + 1);
  for (const name of new Set(checks)) checkIn(bucket, name).blocks += 1;
}

export function addUsageTo(sums: UsageByName, name: string | null, more: UsageSum): void {
  const key = sums.has(name) || sums.size < usageNamesMax ? name : others;
  sums.set(key, addUsage(sums.get(key) ?? noUsage, more));
}

export function addResolved(bucket: Bucket, tookMs: number): void {
  bucket.resolved += 1;
  addDuration(bucket.resolveTimes, tookMs);
}

export type Buckets = {
  /** Calls `count` with the bucket at `atMs` of each window that still covers that time. */
  addAt(atMs: number, count: (bucket: Bucket) => void): void;
  /** Returns all buckets of a window ending at `nowMs`. */
  within(window: Window, nowMs: number): Counted;
};

export function createBuckets(windows: Windows = spans): Buckets {
  const kept = new Map(Object.values(windows).map((window) => [window, new Map<number, Bucket>()]));
  const firstOf = ({ bucketMs, count }: Window, nowMs: number) => nowMs - (nowMs % bucketMs) - (count - 1) * bucketMs;
  let newestMs = 0;
  return {
    addAt(atMs, count) {
      newestMs = Math.max(newestMs, atMs);
      for (const [window, buckets] of kept) {
        const startMs = atMs - (atMs % window.bucketMs);
        const firstMs = firstOf(window, newestMs);
        if (startMs < firstMs) continue;
        const bucket = buckets.get(startMs) ?? newBucket();
        if (!buckets.has(startMs)) {
          buckets.set(startMs, bucket);
          for (const old of buckets.keys()) if (old < firstMs) buckets.delete(old);
        }
        count(bucket);
      }
    },
    within(window, nowMs) {
      const firstMs = firstOf(window, Math.max(nowMs, newestMs));
      return Array.from({ length: window.count }, (_, index) => {
        const atMs = firstMs + index * window.bucketMs;
        return { atMs, bucket: kept.get(window)?.get(atMs) ?? newBucket() };
      });
    },
  };
}
