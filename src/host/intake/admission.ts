/**
 * Admission: how many requests are open at once, refused before anything is stored. What is counted is an attempt, not
 * how often somebody asks about it, so that the retries of one held attempt lock nobody out.
 */
import { AppError } from '../../errors.ts';

/** `actor`: whose request it is, such as a worker; null: nobody's. `key`: requests of one key count once. */
export type Admitted = { readonly actor: string | null; readonly key: string };

export type Admission = {
  /** How many are open. */
  readonly open: () => number;
  /** Takes a place, which the function that it returns gives back. @throws AppError service.busy */
  enter(request: Admitted): () => void;
  /** @throws AppError service.busy, without a call of `work` */
  run<Result>(request: Admitted, work: () => Promise<Result>): Promise<Result>;
};

export type AdmissionOptions = {
  readonly openMax: number;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
};

/** How many requests of one actor may be open: far more than one agent has, and too few to fill a replica. */
const actorOpenMax = 100;
/** While this share of all places is taken, nobody gets more than `perSecondMax` requests a second. */
const crowdedShare = 0.1;
const perSecondMax = 100;

export function createAdmission({ openMax, clock }: AdmissionOptions): Admission {
  const byKey = new Map<string, number>();
  const byActor = new Map<string, number>();
  const rates = createRates(clock);
  const admit = ({ actor, key }: Admitted) => {
    if (byKey.has(key)) return;
    if (byKey.size >= openMax) throw busy(`${byKey.size} requests are open, the most that this replica accepts`);
    if (actor === null) return;
    const own = byActor.get(actor) ?? 0;
    if (own >= actorOpenMax) throw busy(`'${actor}' has ${own} requests open, the most that one may have`);
    if (byKey.size >= openMax * crowdedShare && !rates.allows(actor))
      throw busy(`'${actor}' asks more than ${perSecondMax} times a second, while others wait`);
  };
  const enter: Admission['enter'] = (request) => {
    admit(request);
    const { actor, key } = request;
    const isFirst = increase(byKey, key) === 1;
    if (isFirst && actor !== null) increase(byActor, actor);
    return () => {
      // Whichever of the same key ends last gives the place back.
      if (decrease(byKey, key) === 0 && actor !== null) decrease(byActor, actor);
    };
  };
  return {
    open: () => byKey.size,
    enter,
    async run(request, work) {
      const leave = enter(request);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

const busy = (why: string) => new AppError('service.busy', why);

function increase(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 0) + 1;
  counts.set(key, count);
  return count;
}

function decrease(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 1) - 1;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
  return count;
}

/** Requests of each actor in this second. */
function createRates(clock: () => number): { allows(actor: string): boolean } {
  let second = 0;
  const counts = new Map<string, number>();
  return {
    allows(actor) {
      const now = Math.floor(clock() / 1_000);
      if (now !== second) counts.clear();
      second = now;
      return increase(counts, actor) <= perSecondMax;
    },
  };
}
