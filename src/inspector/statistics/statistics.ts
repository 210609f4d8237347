/**
 * Counts statistics of a fleet from its log: outcomes of stops, blocking guards, and how long checks and people took.
 * This is a separate fold that needs no fleet state, so it also works for a truncated log. Pure. Memory is bounded by
 * the buckets (buckets.ts) and the limits below.
 */
import assert from 'node:assert/strict';
import {
  type CheckResult,
  type Decision,
  decidingGuard,
  formatIsoTime,
  readEntry,
  readJson,
  readSubject,
  topicOf,
  type UsageReport,
} from '../../../machines/index.ts';
import { createUsageSources, type UsageSources } from '../../../machines/replay/usage-sources.ts';
import {
  addUsage,
  byCost,
  byName,
  type NamedUsage,
  noUsage,
  showUsage,
  sumOfReport,
  type UsageSum,
} from '../../../machines/values/usage.ts';
import { isByPerson } from '../../../machines/worker/changes.ts';
import type { FleetStatistics, UsageLine } from '../messages.ts';
import { countedKindOf } from '../vocabulary.ts';
import {
  addBlock,
  addDuration,
  addResolved,
  addUsageTo,
  type Bucket,
  type Buckets,
  type CheckCounts,
  type Counted,
  checkIn,
  createBuckets,
  type Durations,
  mergeDurations,
  newCheck,
  quantileOf,
  type UsageByName,
  type Windows,
} from './buckets.ts';
import { createFlakiness, type Pair } from './flakiness.ts';
import { others, spans } from './spans.ts';

/** `nowMs` is the end of the span. `fromMs` is its start if that is not the start of the first bucket. */
type ViewOptions = {
  readonly span: FleetStatistics['span'];
  readonly fromMs?: number;
  readonly nowMs: number;
  readonly knownFromMs: number | null;
  /** Whether all usage was reported with `usedFor`. */
  readonly areTasksKnown: boolean;
};

const summarize = (
  counted: Counted,
  bucketMs: number,
  { span, nowMs, fromMs = counted[0]?.atMs ?? 0, knownFromMs, areTasksKnown }: ViewOptions,
): FleetStatistics => ({
  span,
  nowMs,
  fromMs,
  toMs: nowMs,
  bucketMs,
  knownFromMs: knownFromMs !== null && knownFromMs > fromMs ? knownFromMs : null,
  buckets: counted.map(({ atMs, bucket }) => {
    const { verdicts, guards, checkMs, escalations, resolved, resolveTimes, usage } = bucket;
    const { usd, tokens } = showUsage(usage);
    return {
      atMs,
      verdicts,
      checkMs,
      escalations,
      resolved,
      usd,
      tokens,
      guards: Object.fromEntries(guards),
      resolveMs: quantileOf(resolveTimes, 0.5),
    };
  }),
  usage: summarizeUsage(counted, areTasksKnown),
  resolveMs: quantilesOf(counted.map(({ bucket }) => bucket.resolveTimes)),
  checks: checksOf(counted),
});

function quantilesOf(all: readonly Durations[]) {
  const merged: Durations = new Map();
  for (const durations of all) mergeDurations(merged, durations);
  return { p50: quantileOf(merged, 0.5), p95: quantileOf(merged, 0.95) };
}

/** Sorted by number of blocks, descending. */
function checksOf(counted: Counted): FleetStatistics['checks'] {
  const sums = new Map<string, CheckCounts>();
  for (const { bucket } of counted)
    for (const [name, counts] of bucket.checks) sums.set(name, addCheck(sums.get(name) ?? newCheck(), counts));
  return [...sums]
    .map(([check, { durations, ...counts }]) => ({ check, ...counts, p95Ms: quantileOf(durations, 0.95) }))
    .sort((a, b) => b.blocks - a.blocks || b.runs - a.runs || (a.check < b.check ? -1 : 1));
}

function addCheck(sum: CheckCounts, more: CheckCounts): CheckCounts {
  for (const key of ['runs', 'passed', 'failed', 'errors', 'differing', 'compared', 'blocks'] as const)
    sum[key] += more[key];
  mergeDurations(sum.durations, more.durations);
  return sum;
}

/** `text` is lazy: only entries that count are decoded. */
type CountedEntry = { readonly atMs: number; readonly subject: string; readonly text: () => string };
export type Statistics = {
  fold(entry: CountedEntry): void;
  /** Whether any usage was reported. */
  readonly hasUsage: boolean;
  /** Assigns usage to a task, known only from the fleet's state. Null if the worker held none. */
  usedFor(task: string | null, atMs: number, report: UsageReport): void;
  view(options: ViewOptions): FleetStatistics;
};

/** Maximum number of open escalations to remember. The time to resolve the oldest is not counted beyond it. */
const escalationsMax = 10_000;

/** Entry types that end an escalation. A prompt does so only if a person wrote it. */
const endings: ReadonlySet<string> = new Set(['escalation.resolved', 'prompt.submitted', 'worker.retired']);

/** @param windows the counted windows by span name */
export function createStatistics(windows: Windows = spans): Statistics {
  const buckets = createBuckets(windows);
  const flakiness = createFlakiness();
  const sources = createUsageSources();
  /** Start time of each open escalation. */
  const escalated = new Map<string, number>();
  let hasUsage = false;

  const begin = (key: string, atMs: number) => {
    if (escalated.has(key)) return;
    escalated.set(key, atMs);
    if (escalated.size > escalationsMax) escalated.delete(escalated.keys().next().value as string);
    buckets.addAt(atMs, (bucket) => {
      bucket.escalations += 1;
    });
  };
  const end = (key: string, atMs: number) => {
    const sinceMs = escalated.get(key);
    if (sinceMs === undefined) return;
    escalated.delete(key);
    buckets.addAt(atMs, (bucket) => addResolved(bucket, Math.max(0, atMs - sinceMs)));
  };
  const decided = (key: string, atMs: number, decision: Decision) => {
    const kind = countedKindOf(decision);
    if (kind === null) return;
    buckets.addAt(atMs, (bucket) => {
      bucket.verdicts[kind] += 1;
      if (decision.decision === 'block')
        addBlock(
          bucket,
          decidingGuard(decision),
          decision.feedback.filter(({ outcome }) => outcome !== 'warn').map(({ check }) => check),
        );
    });
    if (kind === 'escalated') begin(key, atMs);
    else end(key, atMs);
  };
  const checked = (worker: string, atMs: number, result: CheckResult) => {
    const { outcome } = result;
    const isJudged = outcome === 'pass' || outcome === 'fail';
    const pair = isJudged ? flakiness.result(worker, result, atMs) : null;
    buckets.addAt(atMs, (bucket) => countCheck(bucket, result, pair));
  };
  return {
    get hasUsage() {
      return hasUsage;
    },
    usedFor(task, atMs, report) {
      const more = sumOfReport(report);
      buckets.addAt(atMs, (bucket) => addUsageTo(bucket.tasks, task, more));
    },
    fold({ atMs, subject, text }) {
      const address = readSubject(subject);
      // An agent may publish on a subject reserved for the service. Such entries are refused and have no effect.
      if (address !== null && 'code' in address) return;
      const { entity, id, type } = topicOf(subject);
      const key = `${entity}/${id}`;
      const isOwn = subject.split('.', 3)[2] !== entity;
      if (type === 'decision') readAs<Decision>(text, isDecision, (decision) => decided(key, atMs, decision));
      else if (type === 'check.finished' && entity === 'worker')
        readAs<CheckResult>(text, isCheckResult, (result) => checked(id, atMs, result));
      // A worker that was silent for too long is escalated without a decision. Its first notification shows it.
      else if (type === 'escalation.notified') begin(key, atMs);
      else if (endings.has(type) && escalated.has(key) && isEnding(subject, text())) end(key, atMs);
      else if (type === 'usage.reported') hasUsage = countUsage(buckets, sources, { atMs, subject, text }) || hasUsage;
      if (entity === 'worker') sources.note(id, type);
      if (entity === 'worker' && !isOwn) flakiness.entry(id, type, atMs, () => toolIn(text()));
    },
    view(options) {
      const window = windows[options.span];
      assert(window !== undefined, `'${options.span}' is counted`);
      // The end of a custom range is exclusive.
      const lastMs = options.span === 'custom' ? options.nowMs - 1 : options.nowMs;
      return summarize(buckets.within(window, lastMs), window.bucketMs, options);
    },
  };
}

function countCheck(bucket: Bucket, { check, outcome, tookMs = 0 }: CheckResult, pair: Pair): void {
  bucket.checkMs += tookMs;
  const counts = checkIn(bucket, check);
  counts.runs += 1;
  if (outcome === 'pass') counts.passed += 1;
  else if (outcome === 'fail') counts.failed += 1;
  else counts.errors += 1;
  addDuration(counts.durations, tookMs);
  if (pair !== null) counts.compared += 1;
  if (pair?.differs === true) counts.differing += 1;
}

/** Counts a usage report. @returns false if the entry is not a valid report */
function countUsage(buckets: Buckets, sources: UsageSources, { atMs, subject, text }: CountedEntry): boolean {
  const json = text();
  const entry = readEntry(subject, json, Buffer.byteLength(json));
  if (entry === null || !('data' in entry) || entry.type !== 'usage.reported') return false;
  const { id, data } = entry;
  if (!sources.counts(id, data.source)) return true;
  const more = sumOfReport(data);
  buckets.addAt(atMs, (bucket) => {
    bucket.usage = addUsage(bucket.usage, more);
    addUsageTo(bucket.models, data.model ?? null, more);
    addUsageTo(bucket.workers, id, more);
  });
  return true;
}

/** Refused entries and prompts written by agents or the system do not end an escalation. */
function isEnding(subject: string, text: string): boolean {
  const entry = readEntry(subject, text, Buffer.byteLength(text));
  if (entry === null || !('data' in entry)) return false;
  return entry.type !== 'prompt.submitted' || isByPerson(entry.data);
}

function toolIn(text: string): unknown {
  const read = readJson(text);
  return read.ok ? (read.value as { tool?: unknown }).tool : null;
}

/** Counts the data if it has the expected form. */
function readAs<Data>(text: () => string, isIt: (value: object) => boolean, count: (data: Data) => void): void {
  const read = readJson(text());
  if (read.ok && isIt(read.value)) count(read.value as Data);
}

const isDecision = (value: object): boolean => {
  const { decision, feedback, verdicts } = value as Partial<Decision>;
  return (decision === 'allow' || decision === 'block') && isRows(feedback) && isRows(verdicts);
};
const isRows = (value: unknown): boolean =>
  Array.isArray(value) && value.every((row) => typeof row === 'object' && row !== null);
const isCheckResult = (value: object): boolean => {
  const { check, outcome, tookMs } = value as Partial<CheckResult>;
  const isTime = tookMs === undefined || (typeof tookMs === 'number' && tookMs >= 0);
  return typeof check === 'string' && typeof outcome === 'string' && isTime;
};

/** Maximum number of lines per usage table. The rest is one line. */
const linesMax = 50;

/**
 * Sums usage by day, worker, model and task.
 * @param areTasksKnown false if usage was not assigned to tasks
 */
function summarizeUsage(counted: Counted, areTasksKnown: boolean): FleetStatistics['usage'] {
  const days: UsageByName = new Map();
  const models: UsageByName = new Map();
  const workers: UsageByName = new Map();
  const tasks: UsageByName = new Map();
  for (const { atMs, bucket } of counted) {
    // In every span, a day is a whole number of buckets.
    if (bucket.usage.reports > 0) add(days, formatIsoTime(atMs).slice(0, 10), bucket.usage);
    for (const [name, sum] of bucket.models) add(models, name, sum);
    for (const [name, sum] of bucket.workers) add(workers, name, sum);
    for (const [name, sum] of bucket.tasks) add(tasks, name, sum);
  }
  if (days.size === 0) return null;
  return {
    days: namedIn(days).sort(byName).map(toLine),
    workers: linesOf(workers),
    models: linesOf(models),
    tasks: areTasksKnown ? linesOf(tasks) : null,
  };
}

const add = (sums: UsageByName, name: string | null, more: UsageSum): unknown =>
  sums.set(name, addUsage(sums.get(name) ?? noUsage, more));

const namedIn = (sums: UsageByName): NamedUsage[] => [...sums].map(([name, sum]) => ({ name, ...sum }));

function linesOf(sums: UsageByName): UsageLine[] {
  const kept: UsageByName = new Map();
  for (const [index, { name, ...sum }] of namedIn(sums).sort(byCost).entries())
    add(kept, index < linesMax ? name : others, sum);
  return namedIn(kept).map(toLine);
}

const toLine = ({ name, ...sum }: NamedUsage): UsageLine => ({ name, ...showUsage(sum) });
