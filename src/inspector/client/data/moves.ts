/** How often each transition was taken in the last ten minutes: begun by the service, kept up by the stream. */
import type { LastMoves, Moves, Transition } from '../../messages.ts';

const minuteMs = 60_000;
const windowMs = 10 * minuteMs;

export function createMoves() {
  const minutes = new Map<number, Map<string, Transition>>();
  let sinceMs = 0;
  const add = (minute: number, transitions: readonly Transition[]) => {
    const counts = minutes.get(minute) ?? new Map<string, Transition>();
    minutes.set(minute, counts);
    for (const [machine, from, to, event, count] of transitions) {
      if (from === to) continue;
      const key = `${machine}${from}${to}${event}`;
      counts.set(key, [machine, from, to, event, count + (counts.get(key)?.[4] ?? 0)]);
    }
  };
  return {
    reset(moves: Moves): void {
      minutes.clear();
      sinceMs = moves.sinceMs;
      for (const [minute, transitions] of moves.minutes) add(minute, transitions);
    },
    add(nowMs: number, transitions: readonly Transition[]): void {
      for (const minute of minutes.keys()) if (minute + minuteMs <= nowMs - windowMs) minutes.delete(minute);
      sinceMs = Math.max(sinceMs, nowMs - windowMs);
      add(nowMs - (nowMs % minuteMs), transitions);
    },
    /** As the service sends them. */
    all: (): Moves => ({ sinceMs, minutes: [...minutes].map(([minute, counts]) => [minute, [...counts.values()]]) }),
    /** Since when, by the log's clock. */
    since: (): number => sinceMs,
    /** All of one machine, summed over the minutes. */
    of(machine: 'w' | 't'): Transition[] {
      const sums = new Map<string, Transition>();
      for (const counts of minutes.values())
        for (const [key, transition] of counts) {
          if (transition[0] !== machine) continue;
          const [, from, to, event, count] = transition;
          sums.set(key, [machine, from, to, event, count + (sums.get(key)?.[4] ?? 0)]);
        }
      return [...sums.values()];
    },
  };
}

/** What moved last. Those that lead back to where they came from are no moves. */
export function lastOf(last: LastMoves, transitions: readonly Transition[]): LastMoves {
  const latest = (machine: 'w' | 't') => transitions.findLast(([it, from, to]) => it === machine && from !== to);
  return { w: latest('w') ?? last.w, t: latest('t') ?? last.t };
}
