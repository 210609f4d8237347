/**
 * Counts how often each transition was taken in each of the last ten minutes. The service counts whether or not a page is
 * open; a page goes on from the service's counts with what the stream says.
 */
import type { Moves, Transition } from './messages.ts';

const minuteMs = 60_000;
const windowMs = 10 * minuteMs;

export type MoveCounts = ReturnType<typeof createMoves>;

/** @param startMs since when it counts */
export function createMoves(startMs = 0) {
  let sinceMs = startMs;
  /** The counts by minute, then by transition, which are at most as many as the charts' edges and events. */
  const minutes = new Map<number, Map<string, Transition>>();
  const countsOf = (minute: number): Map<string, Transition> => {
    const counts = minutes.get(minute) ?? new Map<string, Transition>();
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
      for (const it of transitions) count(counts, it);
    },
    /** Starts over with what the service has counted. */
    reset(moves: Moves): void {
      minutes.clear();
      sinceMs = moves.sinceMs;
      for (const { minuteMs: minute, transitions } of moves.minutes)
        for (const it of transitions) count(countsOf(minute), it);
    },
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
      const sums = new Map<string, Transition>();
      for (const counts of minutes.values())
        for (const it of counts.values()) if (it.machine === machine) count(sums, it);
      return [...sums.values()];
    },
  };
}

/** A transition that leads back to its own state is no move. */
function count(counts: Map<string, Transition>, it: Transition): void {
  if (it.from === it.to) return;
  const key = `${it.machine} ${it.from} ${it.to} ${it.event}`;
  counts.set(key, { ...it, count: it.count + (counts.get(key)?.count ?? 0) });
}
