/**
 * Admission limits the number of open requests. A request over the limit is refused before anything is stored. Requests
 * about the same attempt share one slot, so retries of a held attempt lock nobody out.
 */
import { AppError } from '../../errors.ts';

/** `actor` is the worker or task that the request is about, or null. Requests with the same `key` share one slot. */
export type SlotRequest = { readonly actor: string | null; readonly key: string };

/** A request that holds a slot or wants one. */
export type Holder = SlotRequest & {
  /** Ends the request with this error to free its slot for another. Returns false if it cannot end now. */
  giveWay(error: AppError): boolean;
};

export type Admission = {
  /** Returns the number of slots in use. */
  readonly open: () => number;
  /** Takes a slot. @throws AppError service.busy */
  enter(holder: Holder): void;
  /** Frees the slot when its last holder leaves. No effect for a holder without a slot. */
  leave(holder: Holder): void;
  /**
   * Holds a slot while `work` runs. Rejects if the work is evicted for another request. @throws AppError service.busy
   */
  run<Result>(request: SlotRequest, work: () => Promise<Result>): Promise<Result>;
};

/** The bounds whose refusals are counted. `gave way`: an open request was evicted for another one. */
export const bounds = ['open requests', 'gave way', 'requests of a worker', 'requests a second'] as const;
export type Bound = (typeof bounds)[number];

export type AdmissionOptions = {
  readonly openMax: number;
  readonly onBound?: (bound: Bound) => void;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
};

/** Maximum open requests per actor: far more than one agent needs, and too few to fill a replica. */
const actorOpenMax = 100;
/** While more than this share of the slots is in use, no actor gets more than `perSecondMax` requests a second. */
const crowdedShare = 0.1;
const perSecondMax = 100;

export function createAdmission({ openMax, clock, onBound = () => {} }: AdmissionOptions): Admission {
  /** The holders of each slot, by key, in the order in which the slots were taken. */
  const slots = new Map<string, Holder[]>();
  const byActor = new Map<string, number>();
  const rates = createRates(clock);
  const refuse = (bound: Bound, why: string): never => {
    onBound(bound);
    throw busy(why);
  };
  /**
   * Worker ids cost nothing, so a flood of invented workers looks like a large fleet. Most requests take milliseconds;
   * those that fill a replica wait for a check or a person. So a new request evicts the one that has waited longest.
   * The evicted caller retries with the same id, as a new request.
   */
  const makeRoom = (actor: string | null, own: number) => {
    const full = `${openMax} requests are open, the maximum of this replica`;
    if (own > 0) refuse('open requests', `${full}, and '${actor}' has ${own} of them`);
    const gaveWay = busy(`${full}: this one waited the longest and gave way; ask again with the same id`);
    if (actor === null || !evictOldest(gaveWay)) refuse('open requests', full);
    onBound('gave way');
  };
  const evictOldest = (error: AppError): boolean => {
    for (const holders of slots.values()) {
      const ended = [...holders].filter((holder) => holder.giveWay(error));
      if (ended.length > 0) return true;
    }
    return false;
  };
  const admit = (actor: string | null) => {
    const own = actor === null ? 0 : (byActor.get(actor) ?? 0);
    if (own >= actorOpenMax) refuse('requests of a worker', `'${actor}' has ${own} requests open, the maximum`);
    if (actor !== null && slots.size >= openMax * crowdedShare && !rates.allows(actor))
      refuse('requests a second', `'${actor}' asks more than ${perSecondMax} times a second, while others wait`);
    if (slots.size >= openMax) makeRoom(actor, own);
  };
  const enter: Admission['enter'] = (holder) => {
    const { actor, key } = holder;
    const holders = slots.get(key);
    if (holders !== undefined) {
      holders.push(holder);
      return;
    }
    admit(actor);
    slots.set(key, [holder]);
    if (actor !== null) increase(byActor, actor);
  };
  const leave: Admission['leave'] = (holder) => {
    const { actor, key } = holder;
    const holders = slots.get(key) ?? [];
    const index = holders.indexOf(holder);
    if (index < 0) return;
    holders.splice(index, 1);
    if (holders.length > 0) return;
    slots.delete(key);
    if (actor !== null) decrease(byActor, actor);
  };
  return {
    open: () => slots.size,
    enter,
    leave,
    async run({ actor, key }, work) {
      let evict: (error: AppError) => void = () => {};
      const evicted = new Promise<never>((_, reject) => {
        evict = reject;
      });
      const holder: Holder = {
        actor,
        key,
        giveWay(error) {
          leave(holder);
          evict(error);
          return true;
        },
      };
      enter(holder);
      try {
        return await Promise.race([work(), evicted]);
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

/** Counts the requests of each actor in the current second. */
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
