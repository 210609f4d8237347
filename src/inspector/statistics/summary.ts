/** The counted buckets of a span as the page receives them. */
import type { FleetStatistics } from '../messages.ts';
import { type Bucket, type CheckCounts, newCheck, type Span, spans } from './buckets.ts';
import { type Durations, mergeDurations, quantileOf } from './durations.ts';

type Counted = readonly { readonly atMs: number; readonly bucket: Bucket }[];

export const summarize = (
  counted: Counted,
  span: Span,
  nowMs: number,
  knownFromMs: number | null,
): FleetStatistics => ({
  ...{ span, nowMs, bucketMs: spans[span].bucketMs },
  knownFromMs: knownFromMs !== null && knownFromMs > (counted[0]?.atMs ?? 0) ? knownFromMs : null,
  buckets: counted.map(({ atMs, bucket: { verdicts, guards, checkMs, escalations, resolved, resolveTimes } }) => ({
    ...{ atMs, verdicts, checkMs, escalations, resolved },
    guards: Object.fromEntries(guards),
    resolveMs: quantileOf(resolveTimes, 0.5),
  })),
  resolveMs: quantilesOf(counted.map(({ bucket }) => bucket.resolveTimes)),
  checks: checksOf(counted),
});

function quantilesOf(all: readonly Durations[]) {
  const merged: Durations = new Map();
  for (const it of all) mergeDurations(merged, it);
  return { p50: quantileOf(merged, 0.5), p95: quantileOf(merged, 0.95) };
}

/** The most blocks first. */
function checksOf(counted: Counted): FleetStatistics['checks'] {
  const sums = new Map<string, CheckCounts>();
  for (const { bucket } of counted)
    for (const [name, counts] of bucket.checks) sums.set(name, add(sums.get(name) ?? newCheck(), counts));
  return [...sums]
    .map(([check, { durations, ...counts }]) => ({ check, ...counts, p95Ms: quantileOf(durations, 0.95) }))
    .sort((a, b) => b.blocks - a.blocks || b.runs - a.runs || (a.check < b.check ? -1 : 1));
}

function add(sum: CheckCounts, more: CheckCounts): CheckCounts {
  for (const key of ['runs', 'passed', 'failed', 'errors', 'differing', 'compared', 'blocks'] as const)
    sum[key] += more[key];
  mergeDurations(sum.durations, more.durations);
  return sum;
}
