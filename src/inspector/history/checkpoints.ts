/** Checkpoints: copies of the fleet at entries of the log, from which another fold starts. Few, and spread evenly. */
import { copyFleet, type Fleet } from '../../../machines/index.ts';

export type Checkpoints = {
  /** Keeps a copy at `seq`, where it is due. */
  offer(seq: number, lastSeq: number, fleet: Fleet): void;
  /** The latest at or before `seq`, as a fleet to fold on. */
  nearest(seq: number): { readonly seq: number; readonly fleet: Fleet } | null;
  readonly size: number;
};

/** Copies share what has not changed between them; where all of 5,000 workers change, one holds some 20 MB. */
const countMaxDefault = 64;
/** About 0.1 s of folding. */
const spacingMin = 4_096;

/** @param hasRoom false: memory is short, so the next copy replaces one */
export function createCheckpoints(hasRoom: () => boolean = () => true, countMax = countMaxDefault): Checkpoints {
  /** In the order of the log. */
  const kept: { readonly seq: number; readonly fleet: Fleet }[] = [];
  const indexAfter = (seq: number) => {
    const found = kept.findIndex((it) => it.seq > seq);
    return found < 0 ? kept.length : found;
  };
  return {
    get size() {
      return kept.length;
    },
    offer(seq, lastSeq, fleet) {
      if (seq % spacingFor(lastSeq, countMax) !== 0) return;
      const at = indexAfter(seq);
      if (kept[at - 1]?.seq === seq) return;
      kept.splice(at, 0, { seq, fleet: copyFleet(fleet) });
      if (kept.length > countMax || (kept.length > 1 && !hasRoom())) kept.splice(leastUseful(kept), 1);
    },
    nearest(seq) {
      const found = kept[indexAfter(seq) - 1];
      return found === undefined ? null : { seq: found.seq, fleet: copyFleet(found.fleet) };
    },
  };
}

/** A power of two, so that the entries of a longer log are among those of a shorter one. Twice as many as fit: they are thinned out. */
function spacingFor(lastSeq: number, countMax: number): number {
  let spacing = spacingMin;
  while (lastSeq / spacing > 2 * countMax) spacing *= 2;
  return spacing;
}

/** The one without which the gap is the smallest; never the last, which a log that grows starts from. */
function leastUseful(kept: readonly { readonly seq: number }[]): number {
  let [least, smallest] = [0, Number.POSITIVE_INFINITY];
  for (let at = 0; at < kept.length - 1; at += 1) {
    const gap = (kept[at + 1]?.seq ?? 0) - (kept[at - 1]?.seq ?? 0);
    if (gap < smallest) [least, smallest] = [at, gap];
  }
  return least;
}
