/**
 * Collects what has happened since the last tick: changed names, counted transitions, and how many entries were folded.
 */
import { type State, workerStates } from '../../../machines/index.ts';
import type { Moves, Topic, Transition } from '../messages.ts';

/** Names of actors whose rows have changed. */

export type ChangedNames = {
  readonly workers: Set<string>;
  readonly tasks: Set<string>;
  readonly queues: Set<string>;
};

export const noNames = (): ChangedNames => ({ workers: new Set(), tasks: new Set(), queues: new Set() });

export const countNames = ({ workers, tasks, queues }: ChangedNames): number => workers.size + tasks.size + queues.size;

export function addNames(to: ChangedNames, { workers, tasks, queues }: ChangedNames): void {
  for (const it of workers) to.workers.add(it);
  for (const it of tasks) to.tasks.add(it);
  for (const it of queues) to.queues.add(it);
}

export type TickChanges = {
  readonly names: ChangedNames;
  readonly transitions: readonly Transition[];
  readonly entries: number;
};
export type Changes = {
  transition(entity: Topic['entity'], id: string, from: State, to: State, event: string): void;
  queue(queue: string): void;
  entry(): void;
  /** Returns the names so far. */
  names(): ChangedNames;
  /** Returns the changes and starts over. */
  take(): TickChanges;
};

export function createChanges(): Changes {
  let names = noNames();
  let transitions = new Map<
    string,
    { transition: readonly [machine: 'w' | 't', number, number, string]; count: number }
  >();
  let entries = 0;
  return {
    names: () => names,
    transition(entity, id, from, to, event) {
      names[`${entity}s`].add(id);
      const machine = entity === 'worker' ? 'w' : 't';
      const key = `${machine}${from}${to}${event}`;
      const known = transitions.get(key);
      if (known !== undefined) known.count += 1;
      else
        transitions.set(key, {
          transition: [machine, workerStates.indexOf(from), workerStates.indexOf(to), event],
          count: 1,
        });
    },
    queue: (queue) => void names.queues.add(queue),
    entry() {
      entries += 1;
    },
    take() {
      const counted = [...transitions.values()].map(({ transition, count }): Transition => [...transition, count]);
      const taken = { names, transitions: counted, entries };
      names = noNames();
      transitions = new Map();
      entries = 0;
      return taken;
    },
  };
}

/**
 * Counts how often each transition was taken in each of the last ten minutes. It counts whether or not a page is open,
 * so that one that opens now knows it.
 */
export type RecentMoves = {
  /** @param nowMs the time of the entry */
  add(nowMs: number, machine: 'w' | 't', from: State, to: State, event: string): void;
  take(nowMs: number): Moves;
};

const minuteMs = 60_000;
const windowMs = 10 * minuteMs;

/** @param startMs since when it counts */
export function createRecentMoves(startMs: number): RecentMoves {
  /** The counts by minute, then by transition, which are at most as many as the charts' edges and events. */
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

/** The names that changed during the last minute, for pages that reconnect. */
type RecentChanges = {
  add(seq: number, names: ChangedNames): void;
  /**
   * Returns what changed after entry `seq`. Null: that is too long ago, or `seq` is beyond `foldedSeq`, the newest
   * entry known.
   */
  since(seq: number, foldedSeq: number): ChangedNames | null;
  clear(): void;
};

/** The number of ticks in a minute. */
const ticksMax = 600;

export function createRecentChanges(): RecentChanges {
  const recent: { readonly seq: number; readonly names: ChangedNames }[] = [];
  return {
    add(seq, names) {
      recent.push({ seq, names });
      if (recent.length > ticksMax) recent.shift();
    },
    since(seq, foldedSeq) {
      const oldest = recent[0];
      if (seq > foldedSeq || oldest === undefined || oldest.seq > seq) return null;
      const names = noNames();
      for (const it of recent) if (it.seq > seq) addNames(names, it.names);
      return names;
    },
    clear() {
      recent.length = 0;
    },
  };
}
