/**
 * Admission: how many requests are open at once, refused before anything is stored. What is counted is an attempt, not
 * how often somebody asks about it, so that the retries of one held attempt lock nobody out.
 */
import { AppError } from '../../errors.ts';

/** `actor`: whose request it is, such as a worker; null: nobody's. `key`: requests of one key count once. */
export type Admitted = { readonly actor: string | null; readonly key: string };

export type Admission = {
  /** Returns how many are open. */
  readonly open: () => number;
  /** Takes a place, which `leave` gives back. @throws AppError service.busy */
  enter(request: Admitted): void;
  /** To be called once for each `enter`. Whichever of the same key leaves last gives the place back. */
  leave(request: Admitted): void;
  /** @throws AppError service.busy, without a call of `work` */
  run<Result>(request: Admitted, work: () => Promise<Result>): Promise<Result>;
};

/** The bounds whose refusals are counted. `gave way`: a request that was open was given up for another one. */
export const bounds = ['open requests', 'gave way', 'requests of a worker', 'requests a second'] as const;
export type Bound = (typeof bounds)[number];

export type AdmissionOptions = {
  readonly openMax: number;
  /**
   * Called where all places are taken and somebody asks who has none: gives up the request that has waited the longest, with this
   * error. False: none can be given up. Default: that of `run` which began first; who runs it ends its work.
   */
  readonly giveUpOldest?: (error: AppError) => boolean;
  readonly onBound?: (bound: Bound) => void;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
};

/** One actor may have this many open requests: far more than one agent has, and too few to fill a replica. */
const actorOpenMax = 100;
/** While this share of all places is taken, nobody gets more than `perSecondMax` requests a second. */
const crowdedShare = 0.1;
const perSecondMax = 100;

export function createAdmission({ openMax, clock, giveUpOldest, onBound = () => {} }: AdmissionOptions): Admission {
  const byKey = new Map<string, number>();
  const byActor = new Map<string, number>();
  /** How each call of `run` is given up, the oldest first. */
  const running = new Set<(error: AppError) => void>();
  const giveUpFirst = (error: AppError) => {
    const [giveUp] = running;
    giveUp?.(error);
    return giveUp !== undefined;
  };
  const rates = createRates(clock);
  const refuse = (bound: Bound, why: string): never => {
    onBound(bound);
    throw busy(why);
  };
  /**
   * Workers cost nothing to invent, so nobody can tell a crowd of them from a fleet. But most requests take milliseconds, and
   * those that fill a replica wait for a check or a person. So whoever comes new gets the place of the one that waited the
   * longest, which asks again with the same id and then comes new.
   */
  const makeRoom = (actor: string | null, own: number) => {
    const full = `${openMax} requests are open, the most that this replica accepts`;
    if (own > 0) refuse('open requests', `${full}, and '${actor}' has ${own} of them`);
    const gaveWay = busy(`${full}: this one waited the longest and gave way; ask again with the same id`);
    if (actor === null || !(giveUpOldest ?? giveUpFirst)(gaveWay)) refuse('open requests', full);
    onBound('gave way');
  };
  const admit = ({ actor, key }: Admitted) => {
    if (byKey.has(key)) return;
    const own = actor === null ? 0 : (byActor.get(actor) ?? 0);
    if (own >= actorOpenMax)
      refuse('requests of a worker', `'${actor}' has ${own} requests open, the most that one may have`);
    if (actor !== null && byKey.size >= openMax * crowdedShare && !rates.allows(actor))
      refuse('requests a second', `'${actor}' asks more than ${perSecondMax} times a second, while others wait`);
    if (byKey.size >= openMax) makeRoom(actor, own);
  };
  const enter: Admission['enter'] = (request) => {
    admit(request);
    const { actor, key } = request;
    if (increase(byKey, key) === 1 && actor !== null) increase(byActor, actor);
  };
  const leave: Admission['leave'] = ({ actor, key }) => {
    if (decrease(byKey, key) === 0 && actor !== null) decrease(byActor, actor);
  };
  return {
    open: () => byKey.size,
    enter,
    leave,
    async run(request, work) {
      enter(request);
      let giveUp: (error: AppError) => void = () => {};
      const givenUp = new Promise<never>((_, reject) => {
        giveUp = (error) => running.delete(giveUp) && reject(error);
        running.add(giveUp);
      });
      try {
        return await Promise.race([work(), givenUp]);
      } finally {
        running.delete(giveUp);
        leave(request);
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
