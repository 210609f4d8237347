/**
 * The outline of the log, from which the page draws its time axis: stops and entries counted in buckets of equal
 * numbers of entries, as far as the log has been folded. While a page shows it, the whole log is folded once in the
 * background.
 */
import type { Decision } from '../../../machines/index.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import type { OutlineBucket, OutlineReply } from '../messages.ts';
import { type VerdictKind, verdictKindOf, verdictKinds } from '../vocabulary.ts';
import type { HistoryWork } from './history-process.ts';
import type { Job, Jobs } from './jobs.ts';
import type { Past, Step } from './past.ts';

type OutlineRequest = Extract<HistoryWork, { kind: 'outline' }>;
export type LogOutline = {
  /** @throws AppError log.unavailable */
  read(request: OutlineRequest, job: Job): Promise<OutlineReply>;
};

/** Maximum number of entries to fold again for finer buckets: less than a second of work. */
const fineMax = 32_768;
/** The background fold stops this long after the last request. An open page sends one every few seconds. */
const wantedForMs = 15_000;

/** @param coarse the outline to which the caller adds every folded entry */
export function createLogOutline(log: Pick<StoredLog, 'range'>, past: Past, jobs: Jobs, coarse: Outline): LogOutline {
  let wantedUntilMs = 0;
  let isFolding = false;
  const foldAll = async (job: Job) => {
    // Missing entries are never counted, so never go back.
    let doneTo = 0;
    for (;;) {
      const first = Math.max(await past.earliest(), doneTo + 1);
      const { lastSeq } = await log.range();
      const fromSeq = coarse.firstMissing(first, lastSeq);
      if (fromSeq === null) return;
      await past.foldRange(fromSeq, lastSeq, job);
      doneTo = lastSeq;
    }
  };
  const wantAll = () => {
    wantedUntilMs = performance.now() + wantedForMs;
    if (isFolding) return;
    isFolding = true;
    const unwanted = new AbortController();
    const onProgress = () => {
      if (performance.now() > wantedUntilMs) unwanted.abort();
    };
    // If it was aborted or the log cannot be read now, the next request starts it again.
    void jobs
      .run('background', { signal: unwanted.signal, onProgress }, foldAll)
      .catch(() => {})
      .finally(() => {
        isFolding = false;
      });
  };
  return {
    async read({ fromSeq, toSeq, width }, job) {
      const { firstSeq, lastSeq } = await log.range();
      const shownFrom = Math.max(1, await past.earliest());
      const [from, to] = [Math.max(fromSeq, shownFrom), Math.min(toSeq, lastSeq)];
      const bounds = { firstSeq, lastSeq, shownFrom };
      wantAll();
      if (width >= coarse.width || to - from >= fineMax) {
        const covered = coarse.covered(shownFrom, lastSeq);
        return { ...bounds, covered, width: Math.max(width, coarse.width), buckets: coarse.read(from, to, width) };
      }
      const fine = createOutline(width, Number.POSITIVE_INFINITY);
      if (from <= to) await past.foldRange(from, to, job, fine.add);
      return { ...bounds, covered: coarse.covered(shownFrom, lastSeq), width, buckets: fine.read(from, to, width) };
    },
  };
}

export type Outline = {
  /** Entries per bucket, a power of two. Grows with the log. */
  readonly width: number;
  /** Counts an entry, only once even if it is folded repeatedly. */
  add(step: Step): void;
  /** Returns the buckets of entries `fromSeq` to `toSeq`, each of at least `width` entries. Skips unfolded entries. */
  read(fromSeq: number, toSeq: number, width: number): OutlineBucket[];
  /** Finds the first entry from `fromSeq` to `toSeq` that has not been folded, or null. */
  firstMissing(fromSeq: number, toSeq: number): number | null;
  /** Returns how many of the entries from `fromSeq` to `toSeq` have been folded. */
  covered(fromSeq: number, toSeq: number): number;
};

type Bucket = { -readonly [Key in keyof OutlineBucket]: OutlineBucket[Key] };
/** A range of entries, inclusive. */
type Range = { from: number; to: number };

/** Several buckets per pixel of a wide screen. They take about a megabyte. */
const bucketsMaxDefault = 4_096;

/** @param width the initial width */
export function createOutline(width = 1, bucketsMax = bucketsMaxDefault): Outline {
  let buckets = new Map<number, Bucket>();
  let bucketWidth = width;
  const ranges: Range[] = [];
  const widen = () => {
    bucketWidth *= 2;
    buckets = mergedInto(buckets.values(), bucketWidth);
  };
  return {
    get width() {
      return bucketWidth;
    },
    add(step) {
      const { seq } = step.message;
      if (!mark(ranges, seq)) return;
      while (seq > bucketWidth * bucketsMax) widen();
      const index = indexOf(seq, bucketWidth);
      const bucket = buckets.get(index) ?? emptyBucket(step);
      if (bucket.count === 0) buckets.set(index, bucket);
      addStep(bucket, step);
    },
    read(fromSeq, toSeq, atLeast) {
      const within = [...buckets.values()].filter((bucket) => bucket.toSeq >= fromSeq && bucket.fromSeq <= toSeq);
      return [...mergedInto(within, Math.max(atLeast, bucketWidth)).values()].sort((a, b) => a.fromSeq - b.fromSeq);
    },
    firstMissing(fromSeq, toSeq) {
      let seq = fromSeq;
      for (const { from, to } of ranges) if (from <= seq && to >= seq) seq = to + 1;
      return seq > toSeq ? null : seq;
    },
    covered: (fromSeq, toSeq) =>
      ranges.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, toSeq) - Math.max(from, fromSeq) + 1), 0),
  };
}

/** Adds an entry to the ranges. @returns false if it was already in one */
function mark(ranges: Range[], seq: number): boolean {
  const after = ranges.findIndex(({ to }) => to >= seq - 1);
  const found = ranges[after];
  if (found === undefined) {
    ranges.push({ from: seq, to: seq });
    return true;
  }
  if (found.from > seq) {
    if (found.from === seq + 1) found.from = seq;
    else ranges.splice(after, 0, { from: seq, to: seq });
    return true;
  }
  if (found.to >= seq) return false;
  found.to = seq;
  const next = ranges[after + 1];
  if (next?.from === seq + 1) {
    found.to = next.to;
    ranges.splice(after + 1, 1);
  }
  return true;
}

const noVerdicts = Object.fromEntries(verdictKinds.map((kind) => [kind, 0])) as Record<VerdictKind, number>;

const emptyBucket = ({ message: { seq, atMs }, silentFromMs }: Step): Bucket => ({
  fromSeq: seq,
  toSeq: seq,
  count: 0,
  fromMs: atMs,
  toMs: atMs,
  ...noVerdicts,
  silentFromMs: silentFromMs === 0 ? atMs : silentFromMs,
  silentToMs: atMs,
});

/** Hot path: must not allocate, because logs have millions of entries. */
function addStep(bucket: Bucket, step: Step): void {
  const { seq, atMs } = step.message;
  bucket.count += 1;
  extend(bucket, seq, seq, atMs, atMs);
  if (step.outcomes.length > 0) addVerdicts(bucket, step);
  const { silentFromMs } = step;
  if (silentFromMs === 0 || atMs - silentFromMs <= bucket.silentToMs - bucket.silentFromMs) return;
  bucket.silentFromMs = silentFromMs;
  bucket.silentToMs = atMs;
}

function addVerdicts(bucket: Bucket, { outcomes }: Step): void {
  const escalatedBefore = bucket.escalated;
  for (const outcome of outcomes) {
    if (outcome.kind === 'decided' && !isEscalatedAlready(outcome.decision))
      bucket[verdictKindOf(outcome.decision)] += 1;
  }
  // Escalations without a stop: a worker went silent, or a task failed too often.
  if (bucket.escalated > escalatedBefore) return;
  for (const { kind } of outcomes) if (kind === 'escalated') bucket.escalated += 1;
}

/** A further stop of a worker that already waits for a person is not another escalation. */
const isEscalatedAlready = ({ cause }: Decision): boolean => cause === 'escalated';

function mergedInto(from: Iterable<Bucket>, width: number): Map<number, Bucket> {
  const buckets = new Map<number, Bucket>();
  for (const bucket of from) addTo(buckets, width, { ...bucket });
  return buckets;
}

const indexOf = (seq: number, width: number): number => Math.floor((seq - 1) / width);

function extend(bucket: Bucket, fromSeq: number, toSeq: number, fromMs: number, toMs: number): void {
  bucket.fromSeq = Math.min(bucket.fromSeq, fromSeq);
  bucket.toSeq = Math.max(bucket.toSeq, toSeq);
  bucket.fromMs = Math.min(bucket.fromMs, fromMs);
  bucket.toMs = Math.max(bucket.toMs, toMs);
}

function addTo(buckets: Map<number, Bucket>, width: number, added: Bucket): void {
  const index = indexOf(added.fromSeq, width);
  const bucket = buckets.get(index);
  if (bucket === undefined) {
    buckets.set(index, added);
    return;
  }
  bucket.count += added.count;
  for (const kind of verdictKinds) bucket[kind] += added[kind];
  extend(bucket, added.fromSeq, added.toSeq, added.fromMs, added.toMs);
  if (added.silentToMs - added.silentFromMs > bucket.silentToMs - bucket.silentFromMs)
    Object.assign(bucket, { silentFromMs: added.silentFromMs, silentToMs: added.silentToMs });
}
