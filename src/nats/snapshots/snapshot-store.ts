/**
 * The snapshots that a start continues from, in the object store `STOPGATE-SNAPSHOTS_<fleet>` (protocol.md §15). The newest
 * three of the log as it is now are kept, and of those that do not fit it.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { type BucketOptions, createSnapshotBucket, type SnapshotInfo } from './snapshot-bucket.ts';
import { type SnapshotContent, type SnapshotFile, type SnapshotHead, writeSnapshotFile } from './snapshot-file.ts';

/** A snapshot that is about to be dropped. */
export type OldSnapshot = {
  readonly info: SnapshotInfo;
  /** The end of the snapshot that was stored after it. */
  readonly nextSeq: number;
  readonly bytes: () => AsyncIterable<Uint8Array>;
};

export type SnapshotStore = {
  /** Newest first. @throws what NATS throws */
  list(): Promise<readonly SnapshotInfo[]>;
  /** @throws Error: it is gone, damaged or of another format; AppError log.unavailable: it may be read later */
  read(name: string): Promise<SnapshotFile>;
  /** Writes one, and drops the old ones, and what a crash left of others. @throws what NATS throws, or `isOfLog` */
  write(head: SnapshotHead, content: SnapshotContent): Promise<SnapshotInfo>;
};

type StoreOptions = Pick<BucketOptions, 'silentMs' | 'bytesMax'> & {
  /** Called before one is dropped, and awaited. It never rejects. */
  readonly onDrop?: (old: OldSnapshot) => Promise<void>;
  /**
   * Tells whether it is of the log as it is now. Those of a log that went back are stored later than the ones that it
   * still has, and must not push these out; nor are they dropped at once, for the log may come back. Default: all are.
   */
  readonly isOfLog?: (info: SnapshotInfo) => Promise<boolean>;
};

const keptCount = 3;

export function createSnapshotStore(
  nc: NatsConnection,
  fleet: string,
  { silentMs, bytesMax, onDrop, isOfLog = async () => true }: StoreOptions = {},
): SnapshotStore {
  const description = `stopgate: snapshots of fleet ${fleet}`;
  const bucket = createSnapshotBucket(nc, {
    fleet,
    bucket: `STOPGATE-SNAPSHOTS_${fleet}`,
    description,
    silentMs,
    bytesMax,
  });
  const prune = async () => {
    const ofLog: SnapshotInfo[] = [];
    const others: SnapshotInfo[] = [];
    for (const info of await bucket.list()) ((await isOfLog(info)) ? ofLog : others).push(info);
    for (const infos of [ofLog, others]) await dropOldest(infos);
  };
  const dropOldest = async (infos: readonly SnapshotInfo[]) => {
    for (let at = infos.length - 1; at >= keptCount; at -= 1) {
      const [info, next] = [infos[at] as SnapshotInfo, infos[at - 1] as SnapshotInfo];
      await onDrop?.({ info, nextSeq: next.position.seq, bytes: () => bucket.bytesOf(info.name) });
      await bucket.drop(info.name);
    }
  };
  return {
    list: bucket.list,
    read: bucket.read,
    async write(head, content) {
      const written = await bucket.put(head, writeSnapshotFile(head, content));
      await prune();
      await bucket.removeCutOff();
      return written;
    },
  };
}
