/**
 * Older snapshots, which only time travel reads, in the object store `STOPGATE-PAST_<fleet>`: few, and spread about
 * evenly over the log. No start uses them, so losing them only costs time.
 */
import { Readable } from 'node:stream';
import type { NatsConnection } from '@nats-io/nats-core';
import { snapshotFormat } from '../../../machines/index.ts';
import type { LogPosition } from '../log/log-reader.ts';
import { isOfLog } from './find-start.ts';
import { createSnapshotBucket, type OnBad, type SnapshotBucket, type SnapshotInfo } from './snapshot-bucket.ts';
import type { OldSnapshot } from './snapshot-store.ts';
import { leastUseful } from './spread.ts';

export type PastSnapshots = {
  /** Those of this release's format. @throws what NATS throws */
  list(): Promise<readonly SnapshotInfo[]>;
  readonly read: SnapshotBucket['read'];
  /** Takes one over, where it is of use, and drops others for it, and those whose entry is no longer in the log. @throws what NATS throws */
  keep(old: OldSnapshot): Promise<void>;
};

type Limits = { readonly countMax: number; readonly bytesMax: number; readonly spacingMin: number };
/**
 * A log of a million entries keeps one each 30,000, and a longer one has gaps of a sixteenth of it at
 * most. Of 100,000 workers one takes 3 MB, so that all of them are within the bytes; a larger fleet keeps fewer. What stands
 * closer than 25,000 entries, about a quarter of a second of folding, is not worth its place.
 */
const limitsDefault: Limits = { countMax: 32, bytesMax: 128 * 1_048_576, spacingMin: 25_000 };

type PastOptions = {
  readonly fleet: string;
  /** What stands in the log at `seq`; null: nothing. @throws what NATS throws */
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
      const [dropped] = kept.splice(leastUseful(kept.map(({ position }) => position)), 1);
      if (dropped === undefined) return;
      bytes -= dropped.bytes;
      await bucket.drop(dropped.name);
    }
  };
  return {
    list: async () => (await bucket.list()).filter(({ format }) => format === snapshotFormat),
    read: bucket.read,
    async keep({ info, nextSeq, bytes }) {
      const { position, format } = info;
      if (info.bytes > limits.bytesMax) return;
      if (format !== snapshotFormat || !isOfLog(info, await positionAt(position.seq))) return;
      const kept = (await dropUnfit()).filter(({ position: { seq } }) => seq !== position.seq);
      const before = kept.findLast((it) => it.position.seq < position.seq);
      if (before !== undefined && nextSeq - before.position.seq < limits.spacingMin) return;
      const taken = await bucket.put(info, Readable.from(bytes(), { objectMode: false }));
      await thin([...kept, taken].sort((a, b) => a.position.seq - b.position.seq));
      await bucket.removeCutOff();
    },
  };
}
