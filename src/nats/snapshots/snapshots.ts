/**
 * The snapshots of a fleet (protocol.md §15). The lifecycle of a snapshot, and the file for each step:
 *
 * 1. Taken: `host/maintenance/snapshot-taker.ts` decides when. It captures the folded fleet as lines
 *    (`machines/fleet/snapshot/snapshot.ts`) and the host's own state, while the fold continues.
 * 2. Stored: as gzipped lines with a SHA-256 (`snapshot-file.ts`) in the object store `STOPGATE-SNAPSHOTS_<fleet>`
 *    (`snapshot-bucket.ts`), which keeps the newest three (`snapshot-store.ts`). Some of the dropped ones are kept for
 *    time travel, in `STOPGATE-PAST_<fleet>` (`past-snapshots.ts`).
 * 3. Checked and loaded: `find-start.ts`, at the start of a replica, takes the newest that belongs to the log, has the
 *    right digest, and whose every field is valid.
 * 4. The log is trimmed: `host/maintenance/log-retention.ts` removes old entries before the second newest snapshot that
 *    a start can use.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import { type Fleet, type RulesVersion, snapshotFormat, takeSnapshot } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { createLogger, type Logger } from '../../log.ts';
import { isForbidden, type NatsConnection } from '../connection.ts';
import { operatorHint } from '../log/log-client.ts';
import { readPosition } from '../log/log-continuity.ts';
import { type LogMessage, type LogPosition, positionOf } from '../log/log-reader.ts';
import { logName } from '../log/stream-info.ts';
import { type FoldStart, findStart, fittingSnapshots, isOf, isOfLog } from './find-start.ts';
import { createPastSnapshots, type PastSnapshots } from './past-snapshots.ts';
import type { SnapshotInfo } from './snapshot-bucket.ts';
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
    return readPosition(manager, logName(fleet), seq).catch((cause: Error) => {
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
      // Another replica may have dropped it meanwhile.
      const why = (cause as Error).message;
      logger.warn({ why, seq }, 'an older snapshot was not kept; time travel to that point will take longer');
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

/**
 * Loads a snapshot of the current log, for a fold of the entries that retention has left: the newest from before
 * `beforeMs`, or without it the oldest. Resolves to null if there is none. Not part of the log's client, which is also
 * in the clients' package, and that must not include the machines.
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
