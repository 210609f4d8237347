/** Checkpoints: the fleet at entries of the log, from which another fold starts. Packed, few, and spread evenly. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type Fleet, restoreFleet, type SnapshotLine, takeSnapshot } from '../../../machines/index.ts';
import { leastUseful } from '../../nats/snapshots/spread.ts';

export type Checkpoints = {
  /** Keeps the fleet at `seq` if a checkpoint is due there. */
  offer(seq: number, lastSeq: number, fleet: Fleet): void;
  /** Returns the entries of all checkpoints up to `seq`. */
  seqsUpTo(seq: number): readonly number[];
  /** Restores the checkpoint of entry `seq` as a fleet to fold on. Null: there is none. */
  at(seq: number): { readonly seq: number; readonly fleet: Fleet } | null;
};

type Limits = { readonly countMax: number; readonly bytesMax: number };
/**
 * A million entries have one each 8,192, about 0.1 s of folding. 5,000 workers take about half a megabyte; of a larger
 * fleet there are fewer, so that beside the service's own state their memory is small.
 */
const limitsDefault: Limits = { countMax: 128, bytesMax: 128 * 1024 * 1024 };
/** About 0.1 s of folding. */
const spacingMin = 4_096;
/** To pack an actor takes about as long as to fold an entry: so checkpoints make a fold twice as long at most. */
const entriesPerActor = 1;
/** The fastest: the lines repeat themselves so much that the others gain little. */
const deflateLevel = 1;

type Checkpoint = { readonly seq: number; readonly name: string; readonly packed: Buffer };

export function createCheckpoints({ countMax, bytesMax }: Limits = limitsDefault): Checkpoints {
  /** In the order of the log. */
  const kept: Checkpoint[] = [];
  let bytes = 0;
  const indexAfter = (seq: number) => {
    const found = kept.findIndex((it) => it.seq > seq);
    return found < 0 ? kept.length : found;
  };
  return {
    offer(seq, lastSeq, fleet) {
      if (seq % spacingMin !== 0 || seq % spacingFor(lastSeq, countMax, fleet) !== 0) return;
      const at = indexAfter(seq);
      if (kept[at - 1]?.seq === seq) return;
      const packed = pack(fleet);
      kept.splice(at, 0, { seq, name: fleet.name, packed });
      bytes += packed.length;
      while (kept.length > countMax || (bytes > bytesMax && kept.length > 1)) {
        const [dropped] = kept.splice(leastUseful(kept), 1);
        bytes -= dropped?.packed.length ?? 0;
      }
    },
    seqsUpTo: (seq) => kept.slice(0, indexAfter(seq)).map((it) => it.seq),
    at(seq) {
      const found = kept.find((it) => it.seq === seq);
      return found === undefined ? null : { seq, fleet: unpack(found) };
    },
  };
}

function pack(fleet: Fleet): Buffer {
  const snapshot = takeSnapshot(fleet);
  const text = [...snapshot.lines].join('');
  snapshot.close();
  return deflateRawSync(text, { level: deflateLevel });
}

const unpack = ({ name, packed }: Checkpoint): Fleet => restoreFleet(name, linesOf(inflateRawSync(packed).toString()));

function* linesOf(text: string): Generator<SnapshotLine> {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from);
    const keyAt = text.indexOf(' ', from) + 1;
    const jsonAt = text.indexOf(' ', keyAt) + 1;
    yield {
      ...{ part: text.slice(from, keyAt - 1), key: text.slice(keyAt, jsonAt - 1) },
      json: () => text.slice(jsonAt, end),
    };
    from = end + 1;
  }
}

/** A power of two, so that the entries of a longer log are among those of a shorter one. Nearly twice as many as fit may be due: they are thinned out. */
function spacingFor(lastSeq: number, countMax: number, { workers, tasks }: Fleet): number {
  const least = Math.max(lastSeq / countMax, entriesPerActor * (workers.size + tasks.size));
  let spacing = spacingMin;
  while (spacing < least) spacing *= 2;
  return spacing;
}
