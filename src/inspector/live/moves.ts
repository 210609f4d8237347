/** How often each transition was taken in each of the last ten minutes, for pages that open now. */
import type { Moves, Transition } from '../messages.ts';

export type RecentMoves = {
  add(nowMs: number, transitions: readonly Transition[]): void;
  take(nowMs: number): Moves;
  clear(): void;
};

const minuteMs = 60_000;
const movesWindowMs = 10 * minuteMs;

export function createRecentMoves(): RecentMoves {
  /** By minute, then by transition: at most as many as the charts have edges and events. */
  const minutes = new Map<number, Map<string, Transition>>();
  let sinceMs: number | null = null;
  const forget = (nowMs: number) => {
    for (const minute of minutes.keys()) if (minute + minuteMs <= nowMs - movesWindowMs) minutes.delete(minute);
  };
  return {
    add(nowMs, transitions) {
      sinceMs ??= nowMs;
      if (transitions.length === 0) return;
      forget(nowMs);
      const minute = nowMs - (nowMs % minuteMs);
      const counts = minutes.get(minute) ?? new Map<string, Transition>();
      minutes.set(minute, counts);
      for (const transition of transitions) {
        const [machine, from, to, event, count] = transition;
        if (from === to) continue;
        const key = `${machine}${from}${to}${event}`;
        counts.set(key, [machine, from, to, event, count + (counts.get(key)?.[4] ?? 0)]);
      }
    },
    take(nowMs) {
      forget(nowMs);
      const counted = [...minutes].map(([minute, counts]) => [minute, [...counts.values()]] as const);
      return { sinceMs: Math.max(sinceMs ?? nowMs, nowMs - movesWindowMs), minutes: counted };
    },
    clear() {
      minutes.clear();
      sinceMs = null;
    },
  };
}
