/**
 * Admission: how many requests are open at once. One too many is refused before anything is stored. An attempt counts
 * once, however often somebody asks about it, so retries of one held attempt lock nobody out.
 */
import { AppError } from '../../errors.ts';

/** `actor`: whose request it is, such as a worker; null: nobody's. Requests of one `key` share a place. */
export type Admitted = { readonly actor: string | null; readonly key: string };

/** A request that has a place, or wants one. */
export type Holder = Admitted & {
  /** Ends the request with this error so that another gets its place. False: it cannot end now. */
  giveWay(error: AppError): boolean;
};

export type Admission = {
  /** Returns how many places are taken. */
  readonly open: () => number;
  /** Takes a place. @throws AppError service.busy */
  enter(holder: Holder): void;
  /** Gives the place back once its last holder has left. It has no effect for a holder that has none. */
  leave(holder: Holder): void;
  /** Holds a place for as long as `work` takes; the work may give way. @throws AppError service.busy */
  run<Result>(request: Admitted, work: () => Promise<Result>): Promise<Result>;
};

/** The bounds whose refusals are counted. `gave way`: a request that was open was given up for another one. */
export const bounds = ['open requests', 'gave way', 'requests of a worker', 'requests a second'] as const;
export type Bound = (typeof bounds)[number];

export type AdmissionOptions = {
  readonly openMax: number;
  readonly onBound?: (bound: Bound) => void;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
};

/** One actor may have this many open requests: far more than one agent has, and too few to fill a replica. */
const actorOpenMax = 100;
/** While this share of all places is taken, nobody gets more than `perSecondMax` requests a second. */
const crowdedShare = 0.1;
const perSecondMax = 100;

export function createAdmission({ openMax, clock, onBound = () => {} }: AdmissionOptions): Admission {
  /** The holders of each place by their key. The place that was taken first comes first. */
  const places = new Map<string, Holder[]>();
  const byActor = new Map<string, number>();
  const rates = createRates(clock);
  const refuse = (bound: Bound, why: string): never => {
    onBound(bound);
    throw busy(why);
  };
  /**
   * Workers cost nothing to invent, so nobody can tell a crowd of them from a fleet. But most requests take milliseconds, and
   * those that fill a replica wait for a check or a person. So a newcomer gets the place of the request that has waited the
   * longest, which asks again with the same id and is then a newcomer itself.
   */
  const makeRoom = (actor: string | null, own: number) => {
    const full = `${openMax} requests are open, the most that this replica accepts`;
    if (own > 0) refuse('open requests', `${full}, and '${actor}' has ${own} of them`);
    const gaveWay = busy(`${full}: this one waited the longest and gave way; ask again with the same id`);
    if (actor === null || !giveUpOldest(gaveWay)) refuse('open requests', full);
    onBound('gave way');
  };
  const giveUpOldest = (error: AppError): boolean => {
    for (const holders of places.values()) {
      const ended = [...holders].filter((holder) => holder.giveWay(error));
      if (ended.length > 0) return true;
    }
    return false;
  };
  const admit = (actor: string | null) => {
    const own = actor === null ? 0 : (byActor.get(actor) ?? 0);
    if (own >= actorOpenMax)
      refuse('requests of a worker', `'${actor}' has ${own} requests open, the most that one may have`);
    if (actor !== null && places.size >= openMax * crowdedShare && !rates.allows(actor))
      refuse('requests a second', `'${actor}' asks more than ${perSecondMax} times a second, while others wait`);
    if (places.size >= openMax) makeRoom(actor, own);
  };
  const enter: Admission['enter'] = (holder) => {
    const { actor, key } = holder;
    const holders = places.get(key);
    if (holders !== undefined) {
      holders.push(holder);
      return;
    }
    admit(actor);
    places.set(key, [holder]);
    if (actor !== null) increase(byActor, actor);
  };
  const leave: Admission['leave'] = (holder) => {
    const { actor, key } = holder;
    const holders = places.get(key) ?? [];
    const index = holders.indexOf(holder);
    if (index < 0) return;
    holders.splice(index, 1);
    if (holders.length > 0) return;
    places.delete(key);
    if (actor !== null) decrease(byActor, actor);
  };
  return {
    open: () => places.size,
    enter,
    leave,
    async run({ actor, key }, work) {
      let giveUp: (error: AppError) => void = () => {};
      const givenUp = new Promise<never>((_, reject) => {
        giveUp = reject;
      });
      const holder: Holder = {
        actor,
        key,
        giveWay(error) {
          leave(holder);
          giveUp(error);
          return true;
        },
      };
      enter(holder);
      try {
        return await Promise.race([work(), givenUp]);
      } finally {
        leave(holder);
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

function decrease(counts: Map<string, number>, key: string): void {
  const count = (counts.get(key) ?? 1) - 1;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
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
