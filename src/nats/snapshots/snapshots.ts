/** The snapshots of a fleet, as its replica and its log need them. */
import { jetstreamManager } from '@nats-io/jetstream';
import { type Fleet, type Rules, snapshotFormat, takeSnapshot } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { NatsConnection } from '../connection.ts';
import { readPosition } from '../log/log-continuity.ts';
import { openLogRange } from '../log/log-range.ts';
import { type LogMessage, type LogPosition, positionOf } from '../log/log-reader.ts';
import { type FoldStart, findStart, fittingSnapshots, isOf, isOfLog } from './find-start.ts';
import { createPastSnapshots, type PastSnapshots } from './past-snapshots.ts';
import type { SnapshotInfo } from './snapshot-bucket.ts';
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
