/** The snapshots of a fleet, as its replica and its log need them. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { Rules } from '../../../machines/index.ts';
import type { Logger } from '../../log.ts';
import type { NatsConnection } from '../connection.ts';
import { readPosition } from '../log-continuity.ts';
import { type FoldStart, findStart } from './find-start.ts';
import { createSnapshotStore, type SnapshotStore } from './snapshot-store.ts';

export type Snapshots = {
  readonly store: SnapshotStore;
  /** Where the fold begins; null: at the first entry. @throws AppError log.unavailable */
  findStart(rules: readonly Rules[] | undefined): Promise<FoldStart | null>;
  /** The last entry that the newest snapshot covers; 0: there is none. Known for a second. @throws what NATS throws */
  coveredTo(): Promise<number>;
};

const coveredForMs = 1_000;

/** @param replicas of the object store, in a cluster */
export function createSnapshots(nc: NatsConnection, fleet: string, replicas: number, logger: Logger): Snapshots {
  const store = createSnapshotStore(nc, fleet, replicas);
  let covered = { seq: 0, untilMs: 0 };
  return {
    store,
    async findStart(rules) {
      const manager = await jetstreamManager(nc, { checkAPI: false });
      const positionAt = (seq: number) => readPosition(manager, `STOPGATE_${fleet}`, seq).catch(() => null);
      return findStart({ fleet, store, positionAt, rules, logger });
    },
    async coveredTo() {
      if (performance.now() < covered.untilMs) return covered.seq;
      const [newest] = await store.list();
      covered = { seq: newest?.position.seq ?? 0, untilMs: performance.now() + coveredForMs };
      return covered.seq;
    },
  };
}
