/** The snapshots of a fleet, as its replica and its log need them. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { Rules } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { NatsConnection } from '../connection.ts';
import { readPosition } from '../log-continuity.ts';
import { type FoldStart, findStart, fittingSnapshots } from './find-start.ts';
import { createSnapshotStore, type SnapshotInfo, type SnapshotStore } from './snapshot-store.ts';

export type Snapshots = {
  readonly store: SnapshotStore;
  /** Those that are of this log as it is now, newest first. @throws AppError log.unavailable, and what NATS throws */
  fitting(): AsyncIterable<SnapshotInfo>;
  /** Where a fold begins; null: at the first entry. `upTo`: it is to begin at this entry or before. @throws AppError log.unavailable */
  findStart(rules: readonly Rules[] | undefined, upTo?: number): Promise<FoldStart | null>;
  /**
   * The last entry that the newest snapshot covers; 0: there is none. What covers `wanted` is known for a second.
   * @throws AppError log.unavailable, and what NATS throws
   */
  coveredTo(wanted: number): Promise<number>;
};

const coveredForMs = 1_000;

/** @param replicas of the object store, in a cluster */
export function createSnapshots(nc: NatsConnection, fleet: string, replicas: number, logger: Logger): Snapshots {
  const store = createSnapshotStore(nc, fleet, replicas);
  let covered = { seq: 0, untilMs: 0 };
  const positionAt = async (seq: number) => {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    return readPosition(manager, `STOPGATE_${fleet}`, seq).catch((cause: Error) => {
      // No answer is not the answer that nothing stands there.
      const message = `what snapshots cover is not known: the log of ${fleet} does not answer: ${cause.message}`;
      throw new AppError('log.unavailable', message, { cause });
    });
  };
  return {
    store,
    fitting: () => fittingSnapshots({ store, positionAt }),
    findStart: (rules, upTo) => findStart({ fleet, store, positionAt, rules, upTo, logger }),
    async coveredTo(wanted) {
      // The log may have been cut since.
      if (performance.now() < covered.untilMs && covered.seq >= wanted) return covered.seq;
      let seq = 0;
      for await (const newest of fittingSnapshots({ store, positionAt })) {
        seq = newest.position.seq;
        break;
      }
      covered = { seq, untilMs: performance.now() + coveredForMs };
      return seq;
    },
  };
}
