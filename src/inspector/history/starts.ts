/**
 * Finds where a fold may begin: a checkpoint, a snapshot of the service, the end of another fold, or the beginning of
 * the log.
 */
import { createFleet, type Fleet } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { Moment } from './shared-fold.ts';

/** The snapshots of the service (protocol.md §15). */
export type StoredSnapshots = {
  /** Returns the entries up to which they were taken. */
  seqs(): Promise<readonly number[]>;
  /** Loads the newest that was taken at `upTo` or before. Null: none can be used. */
  load(upTo: number): Promise<{ readonly fleet: Fleet; readonly seq: number } | null>;
};
/** The log and the stored snapshots, as they were a moment ago. */
export type Known = { readonly firstSeq: number; readonly lastSeq: number; readonly snapshots: readonly number[] };
export type Starts = {
  /** Returns what was known a moment ago, or with `anew` what is so now. */
  known(anew?: boolean): Promise<Known>;
  /** Returns the nearest start at or before `seq`. Null: there is none. */
  nearest(seq: number, known: Known): number | null;
  /** A fleet to fold on from there, or from before. @throws AppError input.bad: what is left of the log does not allow it */
  open(seq: number, known: Known): Promise<Moment>;
  /** Returns the first entry that can be shown. */
  earliest(known: Known): number;
  /** Keeps the end of a fold as a start for others. */
  keep(moment: Moment): void;
};
export type StartsOptions = {
  readonly fleet: string;
  readonly log: Pick<StoredLog, 'range' | 'accepted'>;
  readonly checkpoints: Checkpoints;
  readonly snapshots: StoredSnapshots;
};

/**
 * The ends of the last folds that are kept, if their fleets are small. The next step of a playback goes on from there.
 */
const idleMax = 4;
/** A worker takes about 4 KB, so this is a third of the process's memory. */
const idleActorsMax = 60_000;
/** What happened in the store meanwhile is seen this late. */
const knownForMs = 1_000;

type Start = { readonly kind: 'idle' | 'checkpoint' | 'snapshot' | 'origin'; readonly seq: number };

export function createStarts({ fleet: name, log, checkpoints, snapshots }: StartsOptions): Starts {
  /** The newest last. */
  const idle: Moment[] = [];
  /** The nearest first. */
  const startsFor = (seq: number, { firstSeq, snapshots: seqs }: Known): Start[] => {
    // What comes after it must still be there, unless it is the very entry.
    const isUsable = (start: Start) => start.seq <= seq && (start.seq === seq || start.seq >= firstSeq - 1);
    const starts: Start[] = [
      ...idle.map((it): Start => ({ kind: 'idle', seq: it.seq })),
      ...checkpoints.seqsUpTo(seq).map((it): Start => ({ kind: 'checkpoint', seq: it })),
      ...seqs.map((it): Start => ({ kind: 'snapshot', seq: it })),
    ].filter(isUsable);
    if (firstSeq <= log.accepted.beginSeq) starts.push({ kind: 'origin', seq: 0 });
    return starts.sort((a, b) => b.seq - a.seq);
  };
  const openStart = async ({ kind, seq }: Start): Promise<Moment | null> => {
    if (kind === 'origin') return { seq: 0, fleet: createFleet(name), last: null };
    if (kind === 'idle') return take(idle, seq);
    const found = kind === 'checkpoint' ? checkpoints.at(seq) : await snapshots.load(seq);
    return found === null ? null : { ...found, last: null };
  };
  return {
    known: cached(knownForMs, async () => {
      const [{ firstSeq, lastSeq }, seqs] = await Promise.all([log.range(), snapshots.seqs()]);
      return { firstSeq, lastSeq, snapshots: seqs };
    }),
    nearest: (seq, known) => startsFor(seq, known)[0]?.seq ?? null,
    async open(seq, known) {
      for (const start of startsFor(seq, known)) {
        const moment = await openStart(start);
        if (moment !== null) return moment;
      }
      throw notCovered(seq, known);
    },
    earliest(known) {
      const earliest = startsFor(Number.POSITIVE_INFINITY, known).at(-1);
      if (earliest === undefined) return known.lastSeq + 1;
      return earliest.kind === 'origin' ? known.firstSeq : earliest.seq;
    },
    keep(moment) {
      idle.push(moment);
      const actors = moment.fleet.workers.size + moment.fleet.tasks.size;
      const most = Math.max(1, Math.min(idleMax, Math.floor(idleActorsMax / (actors + 1))));
      while (idle.length > most) idle.shift();
    },
  };
}

function take(idle: Moment[], seq: number): Moment | null {
  const at = idle.findIndex((it) => it.seq === seq);
  return at < 0 ? null : (idle.splice(at, 1)[0] ?? null);
}

export function notCovered(seq: number, { firstSeq, snapshots }: Known): AppError {
  const oldest = Math.min(...snapshots.filter((it) => it >= firstSeq - 1));
  const where = Number.isFinite(oldest)
    ? `the first that can be shown is ${oldest}, where a snapshot was taken`
    : 'no snapshot covers what is left';
  return new AppError(
    'input.bad',
    `entry ${seq} cannot be shown: the log now starts at entry ${firstSeq}, and ${where}`,
  );
}

/** Returns what `read` gave at most `forMs` ago, or with `true` what it gives now. */
function cached<Value>(forMs: number, read: () => Promise<Value>): (anew?: boolean) => Promise<Value> {
  let value: Promise<Value> | null = null;
  let untilMs = 0;
  return (anew = false) => {
    if (value === null || anew || performance.now() >= untilMs) {
      const reading = read();
      value = reading;
      untilMs = performance.now() + forMs;
      reading.catch(() => {
        if (value === reading) value = null;
      });
    }
    return value;
  };
}
