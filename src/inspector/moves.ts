/**
 * Counts how often each transition was taken in each of the last ten minutes, and knows the newest. The service counts
 * whether or not a page is open; a page goes on from the service's counts with what the stream says.
 */
import type { LastMoves, Moves, Transition } from './messages.ts';

const minuteMs = 60_000;
const windowMs = 10 * minuteMs;

export type MoveCounts = ReturnType<typeof createMoves>;

/** @param startMs since when it counts */
export function createMoves(startMs = 0) {
  let sinceMs = startMs;
  let last: LastMoves = { worker: null, task: null };
  /** The counts by minute, then by transition, which are at most as many as the charts' edges and events. */
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
    /** @param nowMs the time of the entries, by the log's clock */
    add(nowMs: number, transitions: readonly Transition[]): void {
      slide(nowMs);
      const counts = countsOf(nowMs - (nowMs % minuteMs));
      for (const it of transitions) if (countTransition(counts, it)) last = { ...last, [it.machine]: it };
    },
    /** Starts over with what the service knows. `moves` null: it has counted nothing, as of the past. */
    reset(newest: LastMoves, moves: Moves | null): void {
      minutes.clear();
      last = newest;
      sinceMs = moves?.sinceMs ?? 0;
      for (const { minuteMs: minute, transitions } of moves?.minutes ?? [])
        for (const it of transitions) countTransition(countsOf(minute), it);
    },
    /** The newest move of any worker, and of any task. */
    last: (): LastMoves => last,
    /** Returns all of the last ten minutes. */
    read(nowMs: number): Moves {
      slide(nowMs);
      return {
        sinceMs,
        minutes: [...minutes].map(([minute, counts]) => ({ minuteMs: minute, transitions: [...counts.values()] })),
      };
    },
    /** Sums the moves of one machine over the minutes. */
    of(machine: Transition['machine']): Transition[] {
      const sums: TransitionCounts = new Map();
      for (const counts of minutes.values())
        for (const it of counts.values()) if (it.machine === machine) countTransition(sums, it);
      return [...sums.values()];
    },
  };
}

export type TransitionCounts = Map<string, Transition>;

/** @returns false: it leads back to its own state, such as a stop that is judged at once, and is no move */
export function countTransition(counts: TransitionCounts, it: Transition): boolean {
  if (it.from === it.to) return false;
  const key = `${it.machine} ${it.from} ${it.to} ${it.event}`;
  counts.set(key, { ...it, count: it.count + (counts.get(key)?.count ?? 0) });
  return true;
}
