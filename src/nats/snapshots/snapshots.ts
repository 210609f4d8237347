/** The snapshots of a fleet: for starts, for cutting the log, and for time travel. */
import { Readable } from 'node:stream';
import { jetstreamManager } from '@nats-io/jetstream';
import { type Fleet, type RulesVersion, snapshotFormat, takeSnapshot } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { createLogger, type Logger } from '../../log.ts';
import type { NatsConnection } from '../connection.ts';
import { isForbidden } from '../connection.ts';
import { operatorHint } from '../log/log-client.ts';
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
   * Yields the snapshots of the current log that a start can continue from, newest first. Reads each completely.
   * @throws AppError log.unavailable; errors of NATS
   */
  usable(): AsyncIterable<SnapshotInfo>;
  /** Resolves to the start of a fold; null is the first entry. @throws AppError log.unavailable, rules.unknown */
  findStart(
    rules: readonly RulesVersion[] | undefined,
    isHostState?: (host: unknown) => boolean,
  ): Promise<FoldStart | null>;
  /** Snapshots of any age, for time travel. */
  readonly past: {
    /** Lists the positions of the current log's snapshots. @throws AppError log.unavailable; errors of NATS */
    positions(): Promise<readonly LogPosition[]>;
    /** Loads the newest usable snapshot up to `upTo`, or null. @throws AppError rules.unknown, log.unavailable */
    load(upTo: number): Promise<FoldStart | null>;
    /** Stores a snapshot of `folded`, whose last entry is `message`. @throws errors of NATS */
    write(folded: Fleet, message: LogMessage): Promise<void>;
  };
  /**
   * Resolves to the sequence number that the newest snapshot covers, or 0. A result that covers `wanted` is cached for
   * a second.
   * @throws AppError log.unavailable; errors of NATS
   */
  coveredTo(wanted: number): Promise<number>;
};

const coveredForMs = 1_000;

export function createSnapshots(nc: NatsConnection, fleet: string, logger: Logger): Snapshots {
  let covered = { seq: 0, untilMs: 0 };
  /** Names of damaged snapshots, which cover nothing. */
  const damaged = new Set<string>();
  const positionAt = async (seq: number) => {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    return readPosition(manager, `STOPGATE_${fleet}`, seq).catch((cause: Error) => {
      // A failed request does not mean that the entry is missing.
      const message = `cannot tell which entries the snapshots cover: the log of ${fleet} does not answer: ${cause.message}`;
      throw new AppError('log.unavailable', message, { cause });
    });
  };
  const onBad = (object: string) =>
    logger.warn({ object }, 'an object in the store of older snapshots is not a snapshot; it is skipped');
  const past = createPastSnapshots(nc, { fleet, positionAt, onBad });
  const onDrop = (old: OldSnapshot) =>
    past.keep(old).catch((cause: unknown) => {
      const { seq } = old.info.position;
      logger.warn({ err: cause, seq }, 'an older snapshot was not kept; time travel to that point will take longer');
    });
  const isOfLogNow = async (info: SnapshotInfo) => isOfLog(info, await positionAt(info.position.seq));
  const store = createSnapshotStore(nc, fleet, { onDrop, isOfLog: isOfLogNow });
  const ofAnyAge = joinStores(store, past, logger);
  /** Yields the snapshots of the current log that are not known to be damaged. */
  async function* fitting(): AsyncGenerator<SnapshotInfo> {
    for await (const info of fittingSnapshots({ store, positionAt })) if (!damaged.has(info.name)) yield info;
  }
  const onDamaged = (name: string) => {
    damaged.add(name);
    covered = { seq: 0, untilMs: 0 };
  };
  const isUsable = async ({ name, position, format }: SnapshotInfo): Promise<boolean> => {
    // Only a release with the same format can tell.
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
      async write(folded, message) {
        const snapshot = takeSnapshot(folded);
        const head = { fleet, rules: folded.rules.version, position: positionOf(message) };
        await past.write(head, snapshot.lines).finally(snapshot.close);
      },
    },
    async coveredTo(wanted) {
      // Not cached for longer, because the log may be rolled back.
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

/** Joins both stores; lists snapshots that cover most first. */
function joinStores(store: SnapshotStore, past: PastSnapshots, logger: Logger): Pick<SnapshotStore, 'list' | 'read'> {
  let namesOfPast: ReadonlySet<string> = new Set();
  return {
    async list() {
      const older = past.list().catch((cause: unknown) => {
        logger.warn({ err: cause }, 'cannot read the older snapshots; time travel to those points takes longer');
        return [];
      });
      const [newest, ofPast] = await Promise.all([store.list(), older]);
      namesOfPast = new Set(ofPast.map(({ name }) => name));
      return [...newest, ...ofPast].sort((a, b) => b.position.seq - a.position.seq);
    },
    read: (name) => (namesOfPast.has(name) ? past : store).read(name),
  };
}

// Removes the beginning of a log (protocol.md §15). The caller must ensure that a snapshot covers the removed entries.

/** `firstMs`: when the first entry was stored. `bytes`: the stored size of all entries. */
export type LogSize = { readonly firstSeq: number; readonly firstMs: number; readonly bytes: number };

export type LogTrimmer = {
  /** @throws errors of NATS */
  size(): Promise<LogSize>;
  /** Reads from `seq` on, in order. The caller may stop early. @throws AppError log.unavailable */
  read(seq: number): AsyncIterable<readonly LogMessage[]>;
  /** Removes all entries before `seq`. @throws errors of NATS */
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

// Older snapshots for time travel, in the object store `STOPGATE-PAST_<fleet>`: a few, spread roughly evenly over the
// log. They come from snapshots that drop out of the newest three, and from folds of the past. Starts do not use them,
// so losing them only costs time.

export type PastSnapshots = {
  /** Lists the snapshots in this release's format. @throws errors of NATS */
  list(): Promise<readonly SnapshotInfo[]>;
  readonly read: SnapshotBucket['read'];
  /**
   * Keeps a dropped snapshot if it is useful. Drops others to make room, and those of lost entries.
   * @throws errors of NATS
   */
  keep(old: OldSnapshot): Promise<void>;
  /** Stores a snapshot made by a fold of the past. Drops others to make room. @throws errors of NATS */
  write(head: SnapshotHead, lines: Iterable<string>): Promise<void>;
};

type Limits = { readonly countMax: number; readonly bytesMax: number; readonly spacingMin: number };
/**
 * A log of a million entries has a snapshot every 25,000 to 50,000 entries; in longer logs, gaps are at most a
 * thirty-second of the log. A snapshot takes 0.2 MB for 5,000 workers, and 3 MB for 100,000, of which 42 fit. Snapshots
 * closer than 25,000 entries, about a quarter of a second of folding, are not worth keeping.
 */
const limitsDefault: Limits = { countMax: 64, bytesMax: 128 * 1_048_576, spacingMin: 25_000 };

type PastOptions = {
  readonly fleet: string;
  /** Resolves to the entry at `seq`, or null. @throws errors of NATS */
  readonly positionAt: (seq: number) => Promise<LogPosition | null>;
  readonly limits?: Limits;
  /** Called for each object that is not a snapshot. */
  readonly onBad?: OnBad;
};

export function createPastSnapshots(nc: NatsConnection, options: PastOptions): PastSnapshots {
  const { fleet, positionAt, limits = limitsDefault, onBad } = options;
  const description = `stopgate: older snapshots of fleet ${fleet}, for time travel`;
  const bucket = createSnapshotBucket(nc, { fleet, bucket: `STOPGATE-PAST_${fleet}`, description });
  /** Drops snapshots that no longer fit the log. Resolves to the others in the order of the log. */
  const dropUnfit = async (): Promise<SnapshotInfo[]> => {
    const kept: SnapshotInfo[] = [];
    for (const info of await bucket.list(onBad)) {
      // Leave the snapshots of a later release, which may run at the same time.
      if ((info.format ?? 0) > snapshotFormat) continue;
      if (info.format === snapshotFormat && isOfLog(info, await positionAt(info.position.seq))) kept.push(info);
      else await bucket.drop(info.name);
    }
    return kept.sort((a, b) => a.position.seq - b.position.seq);
  };
  const thin = async (kept: SnapshotInfo[]) => {
    let bytes = kept.reduce((sum, info) => sum + info.bytes, 0);
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
      const before = kept.findLast((info) => info.position.seq < position.seq);
      if (before !== undefined && nextSeq - before.position.seq < limits.spacingMin) return;
      await add(info, Readable.from(bytes(), { objectMode: false }), kept);
    },
    async write(head, lines) {
      // Only starts need the host's state.
      await add(head, writeSnapshotFile(head, { lines, host: null }), await others(head.position.seq));
    },
  };
}

/**
 * Finds the snapshot whose removal leaves the smallest gap. Never the last, and not the first if there are others: if
 * the beginning of the log was cut, only the first snapshot covers the entries after it.
 * @param kept in the order of the log, not empty
 * @returns its index
 */
function leastUseful(kept: readonly SnapshotInfo[]): number {
  const seqAt = (index: number) => kept[index]?.position.seq ?? 0;
  let [least, smallest] = [0, Number.POSITIVE_INFINITY];
  for (let index = 1; index < kept.length - 1; index += 1) {
    const gap = seqAt(index + 1) - seqAt(index - 1);
    if (gap < smallest) [least, smallest] = [index, gap];
  }
  return least;
}

// Loads the start of a fold for readers of the log, such as commands. Not part of the log's client, because that is
// also in the clients' package, which must not include the machines.

/**
 * Loads a snapshot of the current log, for a fold of the entries that retention has left: the newest from before
 * `beforeMs`, or without it the oldest. Resolves to null if there is none.
 * @throws AppError rules.unknown, log.unavailable; input.unauthorized if the server denies reading snapshots
 */
export async function loadStart(nc: NatsConnection, fleet: string, beforeMs?: number): Promise<FoldStart | null> {
  try {
    return await load(nc, fleet, beforeMs);
  } catch (cause) {
    if (!isForbidden(cause)) throw cause;
    const message = `the NATS server denies reading the snapshots of fleet ${fleet}, which are needed here: ${operatorHint}`;
    throw new AppError('input.unauthorized', message, { cause });
  }
}

async function load(nc: NatsConnection, fleet: string, beforeMs?: number): Promise<FoldStart | null> {
  // Silent, because warnings about skipped snapshots do not help users of a command.
  const { past } = createSnapshots(nc, fleet, createLogger('silent'));
  const positions = [...(await past.positions())].sort((a, b) => a.seq - b.seq);
  if (beforeMs !== undefined) return past.load(positions.findLast(({ atMs }) => atMs < beforeMs)?.seq ?? 0);
  for (const { seq } of positions) {
    const start = await past.load(seq);
    if (start !== null) return start;
  }
  return null;
}
