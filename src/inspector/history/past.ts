/**
 * Reconstructs a fleet's state at any log entry with the service's own fold. Starts from the nearest known position: a
 * recently folded one, a stored snapshot, or the beginning. Where snapshots are far apart, it stores more on the way.
 */
import {
  copyFleet,
  createFleet,
  type Fleet,
  type FoldOutcome,
  formatIsoTime,
  viewTask,
  viewWorker,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { foldMessage } from '../../host/fold/fold-message.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import { allRows } from '../fleet-rows.ts';
import type { PastActor, PastFleet, Topic } from '../messages.ts';
import { timelineEntry } from '../timeline.ts';
import type { Job } from './jobs.ts';
import { GapError, readUnbroken } from './log-entries.ts';

/** The fleet after entry `seq`. `last` is that entry, or null if the fold started there. */
export type Moment = { readonly fleet: Fleet; readonly seq: number; readonly last: LogMessage | null };
/** One folded entry. `silentFromMs` is the time of the previous entry, or 0 if there is none. */
export type Step = {
  readonly message: LogMessage;
  readonly outcomes: readonly FoldOutcome[];
  readonly fleet: Fleet;
  readonly silentFromMs: number;
};

export type Past = {
  /**
   * Calls `read` with the state at `seq`, which it must not keep.
   * @throws AppError input.bad if that entry cannot be shown
   */
  at<Result>(seq: number, job: Job, read: (moment: Moment) => Result): Promise<Result>;
  /**
   * Folds entries `fromSeq` to `toSeq` and calls `onStep` for each.
   * @throws AppError log.unavailable if the log was truncated meanwhile
   */
  foldRange(fromSeq: number, toSeq: number, job: Job, onStep?: (step: Step) => void): Promise<void>;
  /** Returns the first entry that can be shown. */
  earliest(): Promise<number>;
  /**
   * Returns a copy of the state before entry `seq`, or the earliest one available if the log was truncated. Null before
   * the first entry of the log.
   */
  copyBefore(seq: number, job: Job): Promise<Fleet | null>;
};

/** The service's snapshots (protocol.md §15). */
export type StoredSnapshots = {
  /** Returns the sequence of the last entry in each snapshot. */
  seqs(): Promise<readonly number[]>;
  /** Loads the newest snapshot taken at or before `upTo`. Null if none is usable. */
  load(upTo: number): Promise<{ readonly fleet: Fleet; readonly seq: number } | null>;
  /** Stores a snapshot of the fleet after `message`. Never rejects: a missing snapshot only costs time. */
  write(fleet: Fleet, message: LogMessage): Promise<void>;
};

export type PastOptions = {
  readonly fleet: string;
  readonly log: Pick<StoredLog, 'range' | 'history' | 'accepted'>;
  readonly snapshots: StoredSnapshots;
  /** Called for each entry of every fold. */
  readonly onStep?: (step: Step) => void;
  /** Default: `pastSizes`. Tests use smaller ones. */
  readonly sizes?: PastSizes;
};

type PastSizes = {
  /** A copy of the state this many entries before the end of a jump is kept, for stepping back. */
  readonly stepsBack: number;
  /** Maximum number of workers and tasks in all kept positions together. */
  readonly actorsMax: number;
  /** Minimum distance in entries between snapshots stored by a fold. */
  readonly spacingMin: number;
};

const pastSizes: PastSizes = {
  // A step back folds for about 10 ms.
  stepsBack: 1_000,
  // At 4 KB per worker, at most a third of the process's memory.
  actorsMax: 60_000,
  // About 0.2 s of folding.
  spacingMin: 32_768,
};

/** The log's range and the stored snapshots, cached for `knownForMs`. */
type Known = { readonly firstSeq: number; readonly lastSeq: number; readonly snapshots: readonly number[] };
/** A position to start folding from. `open` returns null if it turns out to be unusable. */
type Start = { readonly seq: number; readonly open: () => Promise<Moment | null> };

/** Retention may truncate the log again while it is read. */
const triesMax = 3;
/** How long the log's range and the list of snapshots are cached. */
const knownForMs = 1_000;

export function createPast({ onStep: onAny, sizes = pastSizes, ...options }: PastOptions): Past {
  const { log, snapshots } = options;
  const positions = createPositions(sizes.actorsMax);
  const { known, before, open } = createStarts(options, positions);
  const fold = async (from: Moment, toSeq: number, job: Job, onStep?: (step: Step) => void): Promise<Moment> => {
    const { fleet, seq: startSeq } = from;
    const now = await known();
    let moment = from;
    const onMessage = (message: LogMessage) => {
      const { seq } = message;
      const silentFromMs = fleet.nowMs;
      const { outcomes } = foldMessage(fleet, message);
      moment = { fleet, seq, last: message };
      const step = { message, outcomes, fleet, silentFromMs };
      onAny?.(step);
      onStep?.(step);
      if (seq === toSeq - sizes.stepsBack) positions.keepCopy(moment);
      if (!isSnapshotWanted(moment, now, sizes.spacingMin)) return job.step(seq - startSeq, toSeq - startSeq);
      return snapshots.write(fleet, message).then(() => job.step(seq - startSeq, toSeq - startSeq));
    };
    try {
      if (toSeq > startSeq) await readUnbroken(log, { fromSeq: startSeq + 1, toSeq }, onMessage);
    } catch (error) {
      // Do not keep the position: the entries after it are missing.
      if (error instanceof GapError) throw error;
      positions.keep(moment);
      throw error;
    }
    positions.keep(moment);
    return moment;
  };
  const at: Past['at'] = async (seq, job, read) => {
    const isNew = seq > (await known()).lastSeq;
    const { lastSeq } = await known(isNew);
    if (seq > lastSeq) throw new AppError('input.bad', `there is no entry ${seq} yet: the log ends at ${lastSeq}`);
    for (let tries = 1; ; tries += 1) {
      try {
        return read(await fold(await open(seq), seq, job));
      } catch (error) {
        if (!(error instanceof GapError)) throw error;
        const { firstSeq } = await known(true);
        if (firstSeq <= error.fromSeq)
          throw new AppError('input.bad', `entry ${seq} cannot be shown: ${error.what} missing in the log`);
        if (tries === triesMax) throw error;
      }
    }
  };
  const earliest = async () => {
    const now = await known();
    const first = before(Number.POSITIVE_INFINITY, now).at(-1);
    if (first === undefined) return now.lastSeq + 1;
    return first.seq === 0 ? now.firstSeq : first.seq;
  };
  return {
    at,
    async foldRange(fromSeq, toSeq, job, onStep = () => {}) {
      // A truncated log may begin at the entry of a snapshot, which is then the earliest known state.
      const hasBefore = before(fromSeq - 1, await known()).length > 0;
      const start = await open(hasBefore ? fromSeq - 1 : fromSeq);
      await fold(start, toSeq, job, (step) => step.message.seq >= fromSeq && onStep(step));
    },
    earliest,
    async copyBefore(seq, job) {
      const first = await earliest();
      const last = Math.max(seq - 1, first <= 1 ? 0 : first);
      return last === 0 ? null : at(last, job, ({ fleet }) => copyFleet(fleet));
    },
  };
}

/** Finds positions where a fold can start. */
function createStarts({ fleet: name, log, snapshots }: PastOptions, positions: Positions) {
  const known = cached(knownForMs, async (): Promise<Known> => {
    const [{ firstSeq, lastSeq }, seqs] = await Promise.all([log.range(), snapshots.seqs()]);
    return { firstSeq, lastSeq, snapshots: seqs };
  });
  const load = async (upTo: number) => {
    const found = await snapshots.load(upTo);
    return found === null ? null : { ...found, last: null };
  };
  const before = (seq: number, { firstSeq, snapshots: seqs }: Known): Start[] => {
    // The entries after it must still be in the log, unless it is exactly the wanted entry.
    const isUsable = (start: Start) => start.seq <= seq && (start.seq === seq || start.seq >= firstSeq - 1);
    const starts: Start[] = [
      ...positions.seqs().map((position) => ({ seq: position, open: async () => positions.take(position) })),
      ...seqs.map((snapshot) => ({ seq: snapshot, open: () => load(snapshot) })),
    ].filter(isUsable);
    if (firstSeq <= log.accepted.beginSeq)
      starts.push({ seq: 0, open: async () => ({ seq: 0, fleet: createFleet(name), last: null }) });
    return starts.sort((a, b) => b.seq - a.seq);
  };
  return {
    known,
    /** Returns the positions at or before `seq`, the nearest first. */
    before,
    /** Opens the nearest position. @throws AppError input.bad if there is none */
    async open(seq: number): Promise<Moment> {
      const now = await known();
      for (const start of before(seq, now)) {
        const moment = await start.open();
        if (moment !== null) return moment;
      }
      throw notCovered(seq, now);
    },
  };
}

/** Maximum number of kept positions. The next step of a playback or search continues from one. */
const positionsMax = 16;

type Positions = ReturnType<typeof createPositions>;

/** Recently folded positions, as fleets that can be folded further. */
function createPositions(actorsMax: number) {
  /** Most recently used last. */
  let kept: Moment[] = [];
  const roomFor = ({ workers, tasks }: Fleet) =>
    Math.max(1, Math.min(positionsMax, Math.floor(actorsMax / (workers.size + tasks.size + 1))));
  const keep = (moment: Moment) => {
    kept = [...kept.filter(({ seq }) => seq !== moment.seq), moment].slice(-roomFor(moment.fleet));
  };
  /** Keeps a copy of a position, unless the fleet is so large that only one fits. */
  const keepCopy = (moment: Moment) => {
    if (roomFor(moment.fleet) > 1) keep({ ...moment, fleet: copyFleet(moment.fleet) });
  };
  return {
    seqs: () => kept.map(({ seq }) => seq),
    keep,
    keepCopy,
    /** Removes a position and returns it for further folding. Null if it is no longer kept. */
    take(seq: number): Moment | null {
      const taken = kept.find((position) => position.seq === seq) ?? null;
      kept = kept.filter((position) => position !== taken);
      if (taken !== null) keepCopy(taken);
      return taken;
    },
  };
}

/** Maximum number of snapshots to spread over a log, so that a long log does not fill the snapshot store. */
const snapshotsWanted = 64;
/** Packing an actor takes about as long as folding an entry, so snapshots slow a fold down by at most half. */
const entriesPerActor = 2;

/** Whether to store a snapshot here: all others are far enough away. */
function isSnapshotWanted(
  { seq, fleet: { workers, tasks } }: Moment,
  { lastSeq, snapshots }: Known,
  spacingMin: number,
): boolean {
  if (seq % spacingMin !== 0) return false;
  const least = Math.max(lastSeq / snapshotsWanted, entriesPerActor * (workers.size + tasks.size));
  let spacing = spacingMin;
  while (spacing < least) spacing *= 2;
  return seq % spacing === 0 && snapshots.every((snapshot) => Math.abs(snapshot - seq) >= spacing);
}

function notCovered(seq: number, { firstSeq, snapshots }: Known): AppError {
  const oldest = Math.min(...snapshots.filter((snapshot) => snapshot >= firstSeq - 1));
  const where = Number.isFinite(oldest)
    ? `the first that can be shown is ${oldest}, where a snapshot was taken`
    : 'no snapshot covers the rest';
  return new AppError(
    'input.bad',
    `entry ${seq} cannot be shown: the log now starts at entry ${firstSeq}, and ${where}`,
  );
}

/** Caches the result of `read` for `forMs`. The returned function reads again if `isNew` is true. */
function cached<Value>(forMs: number, read: () => Promise<Value>): (isNew?: boolean) => Promise<Value> {
  let value: Promise<Value> | null = null;
  let untilMs = 0;
  return (isNew = false) => {
    if (value === null || isNew || performance.now() >= untilMs) {
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

/**
 * Returns the rows of all actors at a log entry, or the full view of one.
 * @throws AppError input.bad if `seq` cannot be shown, actor.unknown if there was no such actor at that entry
 */
export function readPast(past: Past, seq: number, topic: Topic | null, job: Job): Promise<PastFleet | PastActor> {
  return past.at(seq, job, ({ fleet, seq: atSeq, last }) => {
    const entry = last?.seq === seq ? timelineEntry(last) : null;
    const moment = { seq: atSeq, atMs: fleet.nowMs, entry };
    if (topic === null) return { ...moment, ...allRows(fleet) };
    const { entity, id } = topic;
    const view = entity === 'worker' ? viewWorker(fleet, id, fleet.nowMs) : viewTask(fleet, id);
    if (view !== null) return { ...moment, view };
    const time = fleet.nowMs === 0 ? '' : ` (${formatIsoTime(fleet.nowMs)})`;
    throw new AppError('actor.unknown', `${entity} ${id} was not known yet at entry ${atSeq}${time}`);
  });
}
