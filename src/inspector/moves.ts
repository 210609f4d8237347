/**
 * Counts transitions per minute over the last ten minutes and remembers the newest. The service always counts; a page
 * starts from the service's counts and adds the transitions of its stream.
 */
import type { LastMoves, Moves, Transition } from './messages.ts';

const minuteMs = 60_000;
const windowMs = 10 * minuteMs;

export type MoveCounts = ReturnType<typeof createMoves>;

/** @param startMs when counting starts, in milliseconds since 1970 */
export function createMoves(startMs = 0) {
  let sinceMs = startMs;
  let last: LastMoves = { worker: null, task: null };
  /** Counts by minute, then by transition. Bounded by the edges and events of the charts. */
  const minutes = new Map<number, TransitionCounts>();
  const countsOf = (minute: number): TransitionCounts => {
    const counts = minutes.get(minute) ?? new Map();
    minutes.set(minute, counts);
    return counts;
  };
  const slide = (nowMs: number) => {
    sinceMs = Math.max(sinceMs, nowMs - windowMs);
    for (const minute of minutes.keys()) if (minute + minuteMs <= nowMs - windowMs) minutes.delete(minute);
  };
  return {
    /** @param nowMs time of the entries by the log's clock */
    add(nowMs: number, transitions: readonly Transition[]): void {
      slide(nowMs);
      const counts = countsOf(nowMs - (nowMs % minuteMs));
      for (const transition of transitions)
        if (countTransition(counts, transition)) last = { ...last, [transition.machine]: transition };
    },
    /** Starts over with the service's counts. `moves` is null if there are none, as for the past. */
    reset(newest: LastMoves, moves: Moves | null): void {
      minutes.clear();
      last = newest;
      sinceMs = moves?.sinceMs ?? 0;
      for (const { minuteMs: minute, transitions } of moves?.minutes ?? [])
        for (const transition of transitions) countTransition(countsOf(minute), transition);
    },
    /** The newest move of any worker and of any task. */
    last: (): LastMoves => last,
    /** Returns the counts of the last ten minutes. */
    read(nowMs: number): Moves {
      slide(nowMs);
      return {
        sinceMs,
        minutes: [...minutes].map(([minute, counts]) => ({ minuteMs: minute, transitions: [...counts.values()] })),
      };
    },
    /** Returns the transitions of one machine, summed over all minutes. */
    totals(machine: Transition['machine']): Transition[] {
      const sums: TransitionCounts = new Map();
      for (const counts of minutes.values())
        for (const transition of counts.values()) if (transition.machine === machine) countTransition(sums, transition);
      return [...sums.values()];
    },
  };
}

export type TransitionCounts = Map<string, Transition>;

/** @returns false for a self-transition, such as a stop that is judged at once; it is not counted */
export function countTransition(counts: TransitionCounts, transition: Transition): boolean {
  if (transition.from === transition.to) return false;
  const key = `${transition.machine} ${transition.from} ${transition.to} ${transition.event}`;
  counts.set(key, { ...transition, count: transition.count + (counts.get(key)?.count ?? 0) });
  return true;
}
