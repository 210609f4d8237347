/**
 * The outline of the log, which the page draws its time axis from: what happened in it, counted in buckets of so many
 * entries, as far as it has been folded. As long as a page shows it, the whole log is folded in the background, once.
 */
import type { Decision } from '../../../machines/index.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import type { OutlineBucket, OutlineReply } from '../messages.ts';
import { type VerdictKind, verdictKindOf, verdictKinds } from '../vocabulary.ts';
import type { HistoryWork } from './history-process.ts';
import type { Job, Jobs } from './jobs.ts';
import type { Past, Step } from './past.ts';

type Question = Extract<HistoryWork, { kind: 'outline' }>;
export type LogOutline = {
  /** @throws AppError log.unavailable */
  read(question: Question, job: Job): Promise<OutlineReply>;
};

/** At most so many entries are folded again where finer buckets are wanted: under a second of work. */
const fineMax = 32_768;
/** A page asks every few seconds. */
const wantedForMs = 15_000;

/** @param coarse all that is folded is added to it */
export function createLogOutline(log: Pick<StoredLog, 'range'>, past: Past, jobs: Jobs, coarse: Outline): LogOutline {
  let wantedUntilMs = 0;
  let isFolding = false;
  const foldAll = async (job: Job) => {
    // Where entries are missing, nothing will ever be counted.
    let doneTo = 0;
    for (;;) {
      const first = Math.max(await past.earliest(), doneTo + 1);
      const { lastSeq } = await log.range();
      const fromSeq = coarse.firstMissing(first, lastSeq);
      if (fromSeq === null) return;
      await past.over(fromSeq, lastSeq, job);
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
    // Given up, or the log cannot be read now: the next question starts it again.
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
      const place = { firstSeq, lastSeq, shownFrom };
      wantAll();
      if (width >= coarse.width || to - from >= fineMax) {
        const covered = coarse.covered(shownFrom, lastSeq);
        return { ...place, covered, width: Math.max(width, coarse.width), buckets: coarse.read(from, to, width) };
      }
      const fine = createOutline(width, Number.POSITIVE_INFINITY);
      if (from <= to) await past.over(from, to, job, fine.add);
      return { ...place, covered: coarse.covered(shownFrom, lastSeq), width, buckets: fine.read(from, to, width) };
    },
  };
}

export type Outline = {
  /** Entries a bucket: a power of two. It grows with the log. */
  readonly width: number;
  /** Counts an entry once, however often it is folded. */
  add(step: Step): void;
  /**
   * Returns the buckets of entries `fromSeq` to `toSeq`, joined to `width` entries or more each. Entries that were not
   * folded have none.
   */
  read(fromSeq: number, toSeq: number, width: number): OutlineBucket[];
  /** Finds the first entry from `fromSeq` to `toSeq` that was not folded yet; null: all were. */
  firstMissing(fromSeq: number, toSeq: number): number | null;
  /** Counts the entries from `fromSeq` to `toSeq` that were folded. */
  covered(fromSeq: number, toSeq: number): number;
};

type Bucket = { -readonly [Key in keyof OutlineBucket]: OutlineBucket[Key] };
/** A range of entries, both ends included. */
type Range = { from: number; to: number };

/** Four for each pixel that a wide screen has for them; they take about a megabyte. */
const bucketsMaxDefault = 4_096;

/** @param width to begin with */
export function createOutline(width = 1, bucketsMax = bucketsMaxDefault): Outline {
  let buckets = new Map<number, Bucket>();
  let bucketWidth = width;
  const ranges: Range[] = [];
  const widen = () => {
    bucketWidth *= 2;
    buckets = joined(buckets.values(), bucketWidth);
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
      const within = [...buckets.values()].filter((it) => it.toSeq >= fromSeq && it.fromSeq <= toSeq);
      return [...joined(within, Math.max(atLeast, bucketWidth)).values()].sort((a, b) => a.fromSeq - b.fromSeq);
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

/** @returns false: it was there already */
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

const nothing = Object.fromEntries(verdictKinds.map((kind) => [kind, 0])) as Record<VerdictKind, number>;

const emptyBucket = ({ message: { seq, atMs }, silentFromMs }: Step): Bucket => ({
  fromSeq: seq,
  toSeq: seq,
  count: 0,
  fromMs: atMs,
  toMs: atMs,
  ...nothing,
  silentFromMs: silentFromMs === 0 ? atMs : silentFromMs,
  silentToMs: atMs,
});

/** Allocates nothing: entries are a million. */
function addStep(bucket: Bucket, step: Step): void {
  const { seq, atMs } = step.message;
  bucket.count += 1;
  spread(bucket, seq, seq, atMs, atMs);
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
  // One that no stop led to: a worker went silent, a task failed too often.
  if (bucket.escalated > escalatedBefore) return;
  for (const { kind } of outcomes) if (kind === 'escalated') bucket.escalated += 1;
}

/** It tries again while it waits for a person: that is no escalation more. */
const isEscalatedAlready = ({ cause }: Decision): boolean => cause === 'escalated';

function joined(from: Iterable<Bucket>, width: number): Map<number, Bucket> {
  const buckets = new Map<number, Bucket>();
  for (const bucket of from) addTo(buckets, width, { ...bucket });
  return buckets;
}

const indexOf = (seq: number, width: number): number => Math.floor((seq - 1) / width);

function spread(bucket: Bucket, fromSeq: number, toSeq: number, fromMs: number, toMs: number): void {
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
  spread(bucket, added.fromSeq, added.toSeq, added.fromMs, added.toMs);
  if (added.silentToMs - added.silentFromMs > bucket.silentToMs - bucket.silentFromMs)
    Object.assign(bucket, { silentFromMs: added.silentFromMs, silentToMs: added.silentToMs });
}
