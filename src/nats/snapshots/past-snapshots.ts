/**
 * Older snapshots, which only time travel reads, in the object store `STOPGATE-PAST_<fleet>`: few, and spread about
 * evenly over the log. They are what falls out of the newest three, and what a fold of the past stores where the log has
 * none. No start uses them, so losing them only costs time.
 */
import { Readable } from 'node:stream';
import type { NatsConnection } from '@nats-io/nats-core';
import { snapshotFormat } from '../../../machines/index.ts';
import type { LogPosition } from '../log/log-reader.ts';
import { isOfLog } from './find-start.ts';
import { createSnapshotBucket, type OnBad, type SnapshotBucket, type SnapshotInfo } from './snapshot-bucket.ts';
import { type SnapshotHead, writeSnapshotFile } from './snapshot-file.ts';
import type { OldSnapshot } from './snapshot-store.ts';

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
