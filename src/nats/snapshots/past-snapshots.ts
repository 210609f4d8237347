/**
 * Older snapshots for time travel, in the object store `STOPGATE-PAST_<fleet>`: a few, spread roughly evenly over the
 * log. They come from snapshots that drop out of the newest three, and from folds of the past. Starts do not use them,
 * so losing them only costs time.
 */
import { Readable } from 'node:stream';
import { snapshotFormat } from '../../../machines/index.ts';
import type { NatsConnection } from '../connection.ts';
import type { LogPosition } from '../log/log-reader.ts';
import { isOfLog } from './find-start.ts';
import { createSnapshotBucket, type OnBad, type SnapshotBucket, type SnapshotInfo } from './snapshot-bucket.ts';
import { type SnapshotHead, writeSnapshotFile } from './snapshot-file.ts';
import type { OldSnapshot } from './snapshot-store.ts';

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
  let least = 0;
  let smallest = Number.POSITIVE_INFINITY;
  for (let index = 1; index < kept.length - 1; index += 1) {
    const gap = seqAt(index + 1) - seqAt(index - 1);
    if (gap >= smallest) continue;
    least = index;
    smallest = gap;
  }
  return least;
}
