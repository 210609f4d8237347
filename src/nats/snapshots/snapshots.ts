/** The snapshots of a fleet, as its replica and its log need them. */
import { Readable } from 'node:stream';
import { jetstreamManager } from '@nats-io/jetstream';
import { type Fleet, type Rules, snapshotFormat, takeSnapshot } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { createLogger, type Logger } from '../../log.ts';
import type { NatsConnection } from '../connection.ts';
import { isForbidden, operatorHint } from '../log/log-client.ts';
import { readPosition } from '../log/log-continuity.ts';
import { openLogRange } from '../log/log-range.ts';
import { type LogMessage, type LogPosition, positionOf } from '../log/log-reader.ts';
import { type FoldStart, findStart, fittingSnapshots, isOf, isOfLog } from './find-start.ts';
import { createSnapshotBucket, type OnBad, type SnapshotBucket, type SnapshotInfo } from './snapshot-bucket.ts';
import { type SnapshotHead, writeSnapshotFile } from './snapshot-file.ts';
import { createSnapshotStore, type OldSnapshot, type SnapshotStore } from './snapshot-store.ts';

export type Snapshots = {
  readonly store: SnapshotStore;
  /**
   * Yields the snapshots of this log as it is now that a start can continue from, newest first; each is read whole for
   * that.
   * @throws AppError log.unavailable, and what NATS throws
   */
  usable(): AsyncIterable<SnapshotInfo>;
  /** Resolves to where a fold begins; null: at the first entry. @throws AppError log.unavailable */
  findStart(rules: readonly Rules[] | undefined, isHostState?: (host: unknown) => boolean): Promise<FoldStart | null>;
  /** Snapshots of any age, for time travel. */
  readonly past: {
    /** The last entries of those that are of this log as it is now. @throws AppError log.unavailable, and what NATS throws */
    positions(): Promise<readonly LogPosition[]>;
    /** The nearest of `upTo` or before; null: none can be used. @throws AppError rules.unknown, log.unavailable */
    load(upTo: number): Promise<FoldStart | null>;
    /** Stores one of `of`, whose last entry is `message`. @throws what NATS throws */
    write(of: Fleet, message: LogMessage): Promise<void>;
  };
  /**
   * The last entry that the newest snapshot covers; 0: there is none. What covers `wanted` is known for a second.
   * @throws AppError log.unavailable, and what NATS throws
   */
  coveredTo(wanted: number): Promise<number>;
};

const coveredForMs = 1_000;

export function createSnapshots(nc: NatsConnection, fleet: string, logger: Logger): Snapshots {
  let covered = { seq: 0, untilMs: 0 };
  /** The snapshots that were found to be damaged: they cover nothing. */
  const damaged = new Set<string>();
  const positionAt = async (seq: number) => {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    return readPosition(manager, `STOPGATE_${fleet}`, seq).catch((cause: Error) => {
      // No answer is not the answer that nothing stands there.
      const message = `what snapshots cover is not known: the log of ${fleet} does not answer: ${cause.message}`;
      throw new AppError('log.unavailable', message, { cause });
    });
  };
  const onBad = (object: string) =>
    logger.warn({ object }, 'an object in the store of older snapshots is not a snapshot; it is skipped');
  const past = createPastSnapshots(nc, { fleet, positionAt, onBad });
  const onDrop = (old: OldSnapshot) =>
    past.keep(old).catch((cause: unknown) => {
      const { seq } = old.info.position;
      logger.warn({ err: cause, seq }, 'an older snapshot was not kept: going back to that point will take longer');
    });
  const isOfLogNow = async (info: SnapshotInfo) => isOfLog(info, await positionAt(info.position.seq));
  const store = createSnapshotStore(nc, fleet, { onDrop, isOfLog: isOfLogNow });
  const ofAnyAge = joinStores(store, past, logger);
  /** Yields the snapshots of this log as it is now that are not known to be damaged. */
  async function* fitting(): AsyncGenerator<SnapshotInfo> {
    for await (const info of fittingSnapshots({ store, positionAt })) if (!damaged.has(info.name)) yield info;
  }
  const onDamaged = (name: string) => {
    damaged.add(name);
    covered = { seq: 0, untilMs: 0 };
  };
  const isUsable = async ({ name, position, format }: SnapshotInfo): Promise<boolean> => {
    // Its own release will know.
    if (format !== snapshotFormat) return false;
    try {
      return isOf(await store.read(name), fleet, position);
    } catch (error) {
      if (error instanceof AppError) throw error;
      logger.warn({ snapshot: name, seq: position.seq, why: (error as Error).message }, 'a snapshot is damaged');
      onDamaged(name);
      return false;
    }
  };
  return {
    store,
    async *usable() {
      for await (const info of fitting()) if (await isUsable(info)) yield info;
    },
    async findStart(rules, isHostState) {
      damaged.clear();
      return findStart({ fleet, store, positionAt, rules, isHostState, logger, onDamaged });
    },
    past: {
      async positions() {
        const found = (await ofAnyAge.list()).map(async (info) => ((await isOfLogNow(info)) ? [info.position] : []));
        return (await Promise.all(found)).flat();
      },
      load: (upTo) => findStart({ fleet, store: ofAnyAge, positionAt, upTo, logger }),
      async write(of, message) {
        const snapshot = takeSnapshot(of);
        const head = { fleet, rules: of.rules.version, position: positionOf(message) };
        await past.write(head, snapshot.lines).finally(snapshot.close);
      },
    },
    async coveredTo(wanted) {
      // The log may have been cut since.
      if (performance.now() < covered.untilMs && covered.seq >= wanted) return covered.seq;
      let seq = 0;
      for await (const newest of fitting()) {
        seq = newest.position.seq;
        break;
      }
      covered = { seq, untilMs: performance.now() + coveredForMs };
      return seq;
    },
  };
}

/** The one that covers most first. */
function joinStores(store: SnapshotStore, past: PastSnapshots, logger: Logger): Pick<SnapshotStore, 'list' | 'read'> {
  let namesOfPast: ReadonlySet<string> = new Set();
  return {
    async list() {
      const older = past.list().catch((cause: unknown) => {
        logger.warn({ err: cause }, 'the older snapshots cannot be read: going back to those points takes longer');
        return [];
      });
      const [newest, ofPast] = await Promise.all([store.list(), older]);
      namesOfPast = new Set(ofPast.map(({ name }) => name));
      return [...newest, ...ofPast].sort((a, b) => b.position.seq - a.position.seq);
    },
    read: (name) => (namesOfPast.has(name) ? past : store).read(name),
  };
}

// Removes the beginning of a log (protocol.md §15). The caller must know that a snapshot covers the removed entries.

/** `firstMs`: when its first entry was stored; `bytes`: of all entries as they are stored. */
export type LogSize = { readonly firstSeq: number; readonly firstMs: number; readonly bytes: number };

export type LogTrimmer = {
  /** @throws what NATS throws */
  size(): Promise<LogSize>;
  /** From `seq` on, in order; it may be left early. @throws AppError log.unavailable */
  read(seq: number): AsyncIterable<readonly LogMessage[]>;
  /** Removes all that stands before `seq`. @throws what NATS throws */
  cutBefore(seq: number): Promise<void>;
};

export function createLogTrimmer(nc: NatsConnection, fleet: string): LogTrimmer {
  const stream = `STOPGATE_${fleet}`;
  const open = () => jetstreamManager(nc, { checkAPI: false });
  return {
    async size() {
      const { state } = await (await open()).streams.info(stream);
      return { firstSeq: state.first_seq, firstMs: Date.parse(state.first_ts), bytes: state.bytes };
    },
    async *read(fromSeq) {
      yield* (await openLogRange(nc, stream, { fromSeq })).batches;
    },
    async cutBefore(seq) {
      await (await open()).streams.purge(stream, { seq });
    },
  };
}

// Older snapshots, which only time travel reads, in the object store `STOPGATE-PAST_<fleet>`: few, and spread about
// evenly over the log. They are what falls out of the newest three, and what a fold of the past stores where the log
// has none. No start uses them, so losing them only costs time.

export type PastSnapshots = {
  /** Lists the snapshots of this release's format. @throws what NATS throws */
  list(): Promise<readonly SnapshotInfo[]>;
  readonly read: SnapshotBucket['read'];
  /** Takes one over, where it is of use, and drops others for it, and those whose entry is no longer in the log. @throws what NATS throws */
  keep(old: OldSnapshot): Promise<void>;
  /** Stores one that a fold of the past has made, of entry `head.position`, and drops others for it. @throws what NATS throws */
  write(head: SnapshotHead, lines: Iterable<string>): Promise<void>;
};

type Limits = { readonly countMax: number; readonly bytesMax: number; readonly spacingMin: number };
/**
 * A log of a million entries keeps one each 25,000 to 50,000, and a longer one has gaps of a thirty-second of it at most. One
 * takes 0.2 MB for 5,000 workers and 3 MB for 100,000, of which there is room for 42. What stands closer than 25,000
 * entries, about a quarter of a second of folding, is not worth its place.
 */
const limitsDefault: Limits = { countMax: 64, bytesMax: 128 * 1_048_576, spacingMin: 25_000 };

type PastOptions = {
  readonly fleet: string;
  /** Resolves to the entry in the log at `seq`; null if there is none. @throws what NATS throws */
  readonly positionAt: (seq: number) => Promise<LogPosition | null>;
  readonly limits?: Limits;
  /** Called once for each snapshot that is taken over. */
  readonly onBad?: OnBad;
};

export function createPastSnapshots(nc: NatsConnection, options: PastOptions): PastSnapshots {
  const { fleet, positionAt, limits = limitsDefault, onBad } = options;
  const description = `stopgate: older snapshots of fleet ${fleet}, for time travel`;
  const bucket = createSnapshotBucket(nc, { fleet, bucket: `STOPGATE-PAST_${fleet}`, description });
  /** In the order of the log. */
  const dropUnfit = async (): Promise<SnapshotInfo[]> => {
    const kept: SnapshotInfo[] = [];
    for (const info of await bucket.list(onBad)) {
      // A later release may run beside this one.
      if ((info.format ?? 0) > snapshotFormat) continue;
      if (info.format === snapshotFormat && isOfLog(info, await positionAt(info.position.seq))) kept.push(info);
      else await bucket.drop(info.name);
    }
    return kept.sort((a, b) => a.position.seq - b.position.seq);
  };
  const thin = async (kept: SnapshotInfo[]) => {
    let bytes = kept.reduce((sum, it) => sum + it.bytes, 0);
    while (kept.length > limits.countMax || (bytes > limits.bytesMax && kept.length > 1)) {
      const [dropped] = kept.splice(leastUseful(kept), 1);
      if (dropped === undefined) return;
      bytes -= dropped.bytes;
      await bucket.drop(dropped.name);
    }
  };
  const add = async (head: SnapshotHead, bytes: Readable, kept: readonly SnapshotInfo[]) => {
    const taken = await bucket.put(head, bytes);
    await thin([...kept, taken].sort((a, b) => a.position.seq - b.position.seq));
    await bucket.removeCutOff();
  };
  const others = async (seq: number) => (await dropUnfit()).filter(({ position }) => position.seq !== seq);
  return {
    list: async () => (await bucket.list()).filter(({ format }) => format === snapshotFormat),
    read: bucket.read,
    async keep({ info, nextSeq, bytes }) {
      const { position, format } = info;
      if (info.bytes > limits.bytesMax) return;
      if (format !== snapshotFormat || !isOfLog(info, await positionAt(position.seq))) return;
      const kept = await others(position.seq);
      const before = kept.findLast((it) => it.position.seq < position.seq);
      if (before !== undefined && nextSeq - before.position.seq < limits.spacingMin) return;
      await add(info, Readable.from(bytes(), { objectMode: false }), kept);
    },
    async write(head, lines) {
      // What the host adds is for a start.
      await add(head, writeSnapshotFile(head, { lines, host: null }), await others(head.position.seq));
    },
  };
}

/**
 * Finds the one without which the gap is the smallest; never the last, which a log that grows starts from, nor, as long as
 * there are others, the first: of a log whose beginning was cut nothing else may cover what comes next.
 * @param kept in the order of the log, not empty @returns its index
 */
function leastUseful(kept: readonly SnapshotInfo[]): number {
  const seqAt = (at: number) => kept[at]?.position.seq ?? 0;
  let [least, smallest] = [0, Number.POSITIVE_INFINITY];
  for (let at = 1; at < kept.length - 1; at += 1) {
    const gap = seqAt(at + 1) - seqAt(at - 1);
    if (gap < smallest) [least, smallest] = [at, gap];
  }
  return least;
}

// Loads a start of a fold for a reader of the log, such as a command. It stands apart from the client of the log, which
// is in the package of clients, for it brings the machines with it.

/**
 * Loads a stored snapshot of the log as it is now, for a fold of what retention has left: the newest whose last entry
 * was stored before `beforeMs`, or without it the oldest. Null: there is none.
 * @throws AppError rules.unknown, log.unavailable; input.unauthorized: the server does not let us read snapshots
 */
export async function loadStart(nc: NatsConnection, fleet: string, beforeMs?: number): Promise<FoldStart | null> {
  try {
    return await load(nc, fleet, beforeMs);
  } catch (cause) {
    if (!isForbidden(cause)) throw cause;
    const message = `the NATS server does not let us read the snapshots of fleet ${fleet}, from which this would go on: ${operatorHint}`;
    throw new AppError('input.unauthorized', message, { cause });
  }
}

async function load(nc: NatsConnection, fleet: string, beforeMs?: number): Promise<FoldStart | null> {
  // One that is passed over is nothing to the reader of a command: it reports where it cannot start.
  const { past } = createSnapshots(nc, fleet, createLogger('silent'));
  const positions = [...(await past.positions())].sort((a, b) => a.seq - b.seq);
  if (beforeMs !== undefined) return past.load(positions.findLast(({ atMs }) => atMs < beforeMs)?.seq ?? 0);
  for (const { seq } of positions) {
    const start = await past.load(seq);
    if (start !== null) return start;
  }
  return null;
}
