/**
 * How often each transition was taken in each of the last ten minutes. Counted whether or not a page is open, so that
 * one that opens now knows it.
 */
import { type State, workerStates } from '../../../machines/index.ts';
import type { Moves, Transition } from '../messages.ts';

export type RecentMoves = {
  /** @param nowMs the time of the entry */
  add(nowMs: number, machine: 'w' | 't', from: State, to: State, event: string): void;
  take(nowMs: number): Moves;
};

const minuteMs = 60_000;
const windowMs = 10 * minuteMs;

/** @param startMs since when it counts */
export function createRecentMoves(startMs: number): RecentMoves {
  /** By minute, then by transition: at most as many as the charts have edges and events. */
  const minutes = new Map<number, Map<string, number>>();
  const forget = (nowMs: number) => {
    for (const minute of minutes.keys()) if (minute + minuteMs <= nowMs - windowMs) minutes.delete(minute);
  };
  return {
    add(nowMs, machine, from, to, event) {
      if (from === to) return;
      const minute = nowMs - (nowMs % minuteMs);
      let counts = minutes.get(minute);
      if (counts === undefined) {
        forget(nowMs);
        counts = new Map();
        minutes.set(minute, counts);
      }
      const key = `${machine} ${from} ${to} ${event}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    take(nowMs) {
      forget(nowMs);
      return {
        sinceMs: Math.max(startMs, nowMs - windowMs),
        minutes: [...minutes].map(([minute, counts]) => [minute, [...counts].map(toTransition)]),
      };
    },
  };
}

function toTransition([key, count]: readonly [string, number]): Transition {
  const [machine, from, to, event = ''] = key.split(' ');
  const indexOf = (state: string | undefined) => workerStates.indexOf(state as State);
  return [machine as 'w' | 't', indexOf(from), indexOf(to), event, count];
}
