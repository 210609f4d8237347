/**
 * The snapshots that a start continues from, in the object store `STOPGATE-SNAPSHOTS_<fleet>` (protocol.md §15). Keeps
 * the newest three of the current log, and the newest three of others.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { type BucketOptions, createSnapshotBucket, type SnapshotInfo } from './snapshot-bucket.ts';
import { type SnapshotContent, type SnapshotFile, type SnapshotHead, writeSnapshotFile } from './snapshot-file.ts';

/** A snapshot that is about to be dropped. */
export type OldSnapshot = {
  readonly info: SnapshotInfo;
  /** The sequence number of the snapshot that was stored after it. */
  readonly nextSeq: number;
  readonly bytes: () => AsyncIterable<Uint8Array>;
};

export type SnapshotStore = {
  /** Lists snapshots, last stored first. @throws errors of NATS */
  list(): Promise<readonly SnapshotInfo[]>;
  /** @throws Error if it is missing, damaged or has another format; AppError log.unavailable if it may be read later */
  read(name: string): Promise<SnapshotFile>;
  /** Writes a snapshot, then drops old and unfinished ones. @throws errors of NATS and of `isOfLog` */
  write(head: SnapshotHead, content: SnapshotContent): Promise<SnapshotInfo>;
};

type StoreOptions = Pick<BucketOptions, 'silentMs' | 'bytesMax'> & {
  /** Called and awaited before a snapshot is dropped. Must not reject. */
  readonly onDrop?: (old: OldSnapshot) => Promise<void>;
  /**
   * Tells whether a snapshot belongs to the current log. After a rollback of the log, snapshots of lost entries are
   * newer than the valid ones and must not push these out. They are not dropped at once either, since the lost entries
   * may come back. Default: all belong to it.
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
    const current: SnapshotInfo[] = [];
    const others: SnapshotInfo[] = [];
    for (const info of await bucket.list()) ((await isOfLog(info)) ? current : others).push(info);
    for (const infos of [current, others]) await dropOldest(infos);
  };
  const dropOldest = async (infos: readonly SnapshotInfo[]) => {
    for (let index = infos.length - 1; index >= keptCount; index -= 1) {
      const info = infos[index] as SnapshotInfo;
      const next = infos[index - 1] as SnapshotInfo;
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
