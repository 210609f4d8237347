/**
 * The past of a fleet: its state at any entry of the log, by the same fold, which starts from the nearest position that is
 * known: one of the last that were folded, a stored snapshot, or the beginning. Where snapshots are far apart, as in a log
 * that was stored while no service ran, it stores some on its way.
 */
import {
  copyFleet,
  createFleet,
  type Fleet,
  formatIsoTime,
  type Outcome,
  viewTask,
  viewWorker,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { foldMessage } from '../../host/fold/fold-message.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import { wholeOf } from '../fleet-rows.ts';
import type { PastActor, PastFleet, Topic } from '../messages.ts';
import { timelineEntry } from '../timeline.ts';
import type { Job } from './jobs.ts';
import { GapError, readUnbroken } from './log-entries.ts';

/** The fleet after entry `seq`; `last`: that entry, null where the fold has only begun there. */
export type Moment = { readonly fleet: Fleet; readonly seq: number; readonly last: LogMessage | null };
/** One entry, folded. `silentFromMs`: when the one before was stored; 0: there is none. */
export type Step = {
  readonly message: LogMessage;
  readonly outcomes: readonly Outcome[];
  readonly fleet: Fleet;
  readonly silentFromMs: number;
};

export type Past = {
  /** Calls `read` with the moment at `seq`, which it must not keep. @throws AppError input.bad: it cannot be shown */
  at<Result>(seq: number, job: Job, read: (moment: Moment) => Result): Promise<Result>;
  /**
   * Folds entries `fromSeq` to `toSeq`, with `onStep` for each.
   * @throws AppError log.unavailable: the log was cut meanwhile
   */
  over(fromSeq: number, toSeq: number, job: Job, onStep?: (step: Step) => void): Promise<void>;
  /** Returns the first entry that can be shown. */
  earliest(): Promise<number>;
};

/** The snapshots of the service (protocol.md §15). */
export type StoredSnapshots = {
  /** Returns the entries up to which they were taken. */
  seqs(): Promise<readonly number[]>;
  /** Loads the newest that was taken at `upTo` or before. Null: none can be used. */
  load(upTo: number): Promise<{ readonly fleet: Fleet; readonly seq: number } | null>;
  /** Stores one of the fleet after `message`. It never rejects: without it others only fold for longer. */
  write(fleet: Fleet, message: LogMessage): Promise<void>;
};

export type PastOptions = {
  readonly fleet: string;
  readonly log: Pick<StoredLog, 'range' | 'history' | 'accepted'>;
  readonly snapshots: StoredSnapshots;
  /** Called for each entry that any fold passes. */
  readonly onStep?: (step: Step) => void;
  /** Default: `pastSizes`. Tests fold shorter logs. */
  readonly sizes?: PastSizes;
};

type PastSizes = {
  /** In entries: where a jump ends, a copy is kept of the state so many before it, for the steps back. */
  readonly stepsBack: number;
  /** Workers and tasks in all positions that are kept. */
  readonly actorsMax: number;
  /** In entries: snapshots that a fold stores are at least this far apart. */
  readonly spacingMin: number;
};

const pastSizes: PastSizes = {
  // Steps back from an entry fold for some 10 ms.
  stepsBack: 1_000,
  // A worker takes about 4 KB, so all of them take a third of the process's memory, if they share nothing.
  actorsMax: 60_000,
  // Two tenths of a second of folding.
  spacingMin: 32_768,
};

/** The log and the stored snapshots, as they were a moment ago. */
type Known = { readonly firstSeq: number; readonly lastSeq: number; readonly snapshots: readonly number[] };
/** A place to fold on from. `open` returns null where it turns out to be of no use. */
type Start = { readonly seq: number; readonly open: () => Promise<Moment | null> };

/** The log may be cut again while what is left of it is read. */
const triesMax = 3;
/** A change in the store is seen this late. */
const knownForMs = 1_000;

export function createPast({ onStep: onAny, sizes = pastSizes, ...options }: PastOptions): Past {
  const { log, snapshots } = options;
  const positions = createPositions(sizes.actorsMax);
  const { known, before, open } = createStarts(options, positions);
  const fold = async (from: Moment, toSeq: number, job: Job, onStep?: (step: Step) => void): Promise<Moment> => {
    const { fleet, seq: startSeq } = from;
    const now = await known();
    let at = from;
    const onMessage = (message: LogMessage) => {
      const { seq } = message;
      const silentFromMs = fleet.nowMs;
      const { outcomes } = foldMessage(fleet, message);
      at = { fleet, seq, last: message };
      const step = { message, outcomes, fleet, silentFromMs };
      onAny?.(step);
      onStep?.(step);
      if (seq === toSeq - sizes.stepsBack) positions.keepCopy(at);
      if (!isSnapshotWanted(at, now, sizes.spacingMin)) return job.step(seq - startSeq, toSeq - startSeq);
      return snapshots.write(fleet, message).then(() => job.step(seq - startSeq, toSeq - startSeq));
    };
    try {
      if (toSeq > startSeq) await readUnbroken(log, { fromSeq: startSeq + 1, toSeq }, onMessage);
    } catch (error) {
      // What comes next is not in the log.
      if (error instanceof GapError) throw error;
      positions.keep(at);
      throw error;
    }
    positions.keep(at);
    return at;
  };
  return {
    async at(seq, job, read) {
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
    },
    async over(fromSeq, toSeq, job, onStep = () => {}) {
      // A cut log may begin with the entry of a snapshot, whose state is then the first there is.
      const hasBefore = before(fromSeq - 1, await known()).length > 0;
      const start = await open(hasBefore ? fromSeq - 1 : fromSeq);
      await fold(start, toSeq, job, (step) => step.message.seq >= fromSeq && onStep(step));
    },
    async earliest() {
      const now = await known();
      const earliest = before(Number.POSITIVE_INFINITY, now).at(-1);
      if (earliest === undefined) return now.lastSeq + 1;
      return earliest.seq === 0 ? now.firstSeq : earliest.seq;
    },
  };
}

/** Finds where a fold may begin. */
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
    // What comes after it must still be there, unless it is the very entry.
    const isUsable = (start: Start) => start.seq <= seq && (start.seq === seq || start.seq >= firstSeq - 1);
    const starts: Start[] = [
      ...positions.seqs().map((it) => ({ seq: it, open: async () => positions.take(it) })),
      ...seqs.map((it) => ({ seq: it, open: () => load(it) })),
    ].filter(isUsable);
    if (firstSeq <= log.accepted.beginSeq)
      starts.push({ seq: 0, open: async () => ({ seq: 0, fleet: createFleet(name), last: null }) });
    return starts.sort((a, b) => b.seq - a.seq);
  };
  return {
    known,
    /** Returns those at `seq` or before it, the nearest first. */
    before,
    /** Opens the nearest. @throws AppError input.bad: there is none */
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

/** So many positions are kept: the next step of a playback, or of a search, goes on from one. */
const positionsMax = 16;

type Positions = ReturnType<typeof createPositions>;

/** The positions that were folded last, as fleets to fold on. */
function createPositions(actorsMax: number) {
  /** The one that was used last at the end. */
  let kept: Moment[] = [];
  const roomFor = ({ workers, tasks }: Fleet) =>
    Math.max(1, Math.min(positionsMax, Math.floor(actorsMax / (workers.size + tasks.size + 1))));
  const keep = (moment: Moment) => {
    kept = [...kept.filter(({ seq }) => seq !== moment.seq), moment].slice(-roomFor(moment.fleet));
  };
  /** Keeps a copy of a moment. There is room for only one of a large fleet. */
  const keepCopy = (moment: Moment) => {
    if (roomFor(moment.fleet) > 1) keep({ ...moment, fleet: copyFleet(moment.fleet) });
  };
  return {
    seqs: () => kept.map(({ seq }) => seq),
    keep,
    keepCopy,
    /** Returns it to be folded on. Null: it is gone. */
    take(seq: number): Moment | null {
      const taken = kept.find((it) => it.seq === seq) ?? null;
      kept = kept.filter((it) => it !== taken);
      if (taken !== null) keepCopy(taken);
      return taken;
    },
  };
}

/** So that a long log does not fill the store of older snapshots, which thins them out. */
const snapshotsWanted = 64;
/** To pack an actor takes about as long as to fold an entry, so a fold takes half as long again at most. */
const entriesPerActor = 2;

/** Tells whether a snapshot is worth its place here: all others are far away. */
function isSnapshotWanted(
  { seq, fleet: { workers, tasks } }: Moment,
  { lastSeq, snapshots }: Known,
  spacingMin: number,
): boolean {
  if (seq % spacingMin !== 0) return false;
  const least = Math.max(lastSeq / snapshotsWanted, entriesPerActor * (workers.size + tasks.size));
  let spacing = spacingMin;
  while (spacing < least) spacing *= 2;
  return seq % spacing === 0 && snapshots.every((it) => Math.abs(it - seq) >= spacing);
}

function notCovered(seq: number, { firstSeq, snapshots }: Known): AppError {
  const oldest = Math.min(...snapshots.filter((it) => it >= firstSeq - 1));
  const where = Number.isFinite(oldest)
    ? `the first that can be shown is ${oldest}, where a snapshot was taken`
    : 'no snapshot covers what is left';
  return new AppError(
    'input.bad',
    `entry ${seq} cannot be shown: the log now starts at entry ${firstSeq}, and ${where}`,
  );
}

/** Returns what `read` gave at most `forMs` ago, or with `isNew` what it gives now. */
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
 * Returns all actors at an entry of the log, or one of them in full.
 * @throws AppError input.bad: `seq` cannot be shown; actor.unknown: there was no such actor at that entry
 */
export function readPast(past: Past, seq: number, topic: Topic | null, job: Job): Promise<PastFleet | PastActor> {
  return past.at(seq, job, ({ fleet, seq: at, last }) => {
    const entry = last?.seq === seq ? timelineEntry(last) : null;
    const moment = { seq: at, atMs: fleet.nowMs, entry };
    if (topic === null) return { ...moment, ...wholeOf(fleet) };
    const { entity, id } = topic;
    const view = entity === 'worker' ? viewWorker(fleet, id, fleet.nowMs) : viewTask(fleet, id);
    if (view !== null) return { ...moment, view };
    const time = fleet.nowMs === 0 ? '' : ` (${formatIsoTime(fleet.nowMs)})`;
    throw new AppError('actor.unknown', `${entity} ${id} was not known yet at entry ${at}${time}`);
  });
}
