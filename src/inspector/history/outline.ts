/** The outline of a log: what happened in it, counted in buckets of so many entries, as far as it has been folded. */
import type { Decision } from '../../../machines/index.ts';
import type { OutlineBucket } from '../messages.ts';
import { type VerdictKind, verdictKindOf, verdictKinds } from '../vocabulary.ts';
import type { Step } from './shared-fold.ts';

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
type Stretch = { from: number; to: number };

/** Four for each pixel that a wide screen has for them; they take about a megabyte. */
const bucketsMaxDefault = 4_096;

/** @param width to begin with */
export function createOutline(width = 1, bucketsMax = bucketsMaxDefault): Outline {
  let buckets = new Map<number, Bucket>();
  let bucketWidth = width;
  const stretches: Stretch[] = [];
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
      if (!mark(stretches, seq)) return;
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
      for (const { from, to } of stretches) if (from <= seq && to >= seq) seq = to + 1;
      return seq > toSeq ? null : seq;
    },
    covered: (fromSeq, toSeq) =>
      stretches.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, toSeq) - Math.max(from, fromSeq) + 1), 0),
  };
}

/** @returns false: it was there already */
function mark(stretches: Stretch[], seq: number): boolean {
  const after = stretches.findIndex(({ to }) => to >= seq - 1);
  const found = stretches[after];
  if (found === undefined) {
    stretches.push({ from: seq, to: seq });
    return true;
  }
  if (found.from > seq) {
    if (found.from === seq + 1) found.from = seq;
    else stretches.splice(after, 0, { from: seq, to: seq });
    return true;
  }
  if (found.to >= seq) return false;
  found.to = seq;
  const next = stretches[after + 1];
  if (next?.from === seq + 1) {
    found.to = next.to;
    stretches.splice(after + 1, 1);
  }
  return true;
}

const nothing = Object.fromEntries(verdictKinds.map((kind) => [kind, 0])) as Record<VerdictKind, number>;

const emptyBucket = ({ message: { seq, atMs }, silentFromMs }: Step): Bucket => ({
  ...{ fromSeq: seq, toSeq: seq, count: 0, fromMs: atMs, toMs: atMs, ...nothing },
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
