/** Collects the changes since the last tick: changed names, counted transitions and the number of folded entries. */
import type { Topic, Transition } from '../messages.ts';
import { countTransition, type TransitionCounts } from '../moves.ts';

/** Names of actors whose rows changed. */
export type ChangedNames = {
  readonly workers: Set<string>;
  readonly tasks: Set<string>;
  readonly queues: Set<string>;
};

export const noNames = (): ChangedNames => ({ workers: new Set(), tasks: new Set(), queues: new Set() });

export const countNames = ({ workers, tasks, queues }: ChangedNames): number => workers.size + tasks.size + queues.size;

export function addNames(to: ChangedNames, { workers, tasks, queues }: ChangedNames): void {
  for (const worker of workers) to.workers.add(worker);
  for (const task of tasks) to.tasks.add(task);
  for (const queue of queues) to.queues.add(queue);
}

export type TickChanges = {
  readonly names: ChangedNames;
  readonly transitions: readonly Transition[];
  readonly entries: number;
};
export type Changes = {
  actor(entity: Topic['entity'], id: string, transition: Transition): void;
  queue(queue: string): void;
  entry(): void;
  /** Returns the names changed so far. */
  names(): ChangedNames;
  /** Returns the changes and starts over. */
  take(): TickChanges;
};

export function createChanges(): Changes {
  let names = noNames();
  let transitions: TransitionCounts = new Map();
  let entries = 0;
  return {
    names: () => names,
    actor(entity, id, transition) {
      names[`${entity}s`].add(id);
      countTransition(transitions, transition);
    },
    queue: (queue) => void names.queues.add(queue),
    entry() {
      entries += 1;
    },
    take() {
      const taken = { names, transitions: [...transitions.values()], entries };
      names = noNames();
      transitions = new Map();
      entries = 0;
      return taken;
    },
  };
}

/** The names changed during the last minute, for pages that reconnect. */
type RecentChanges = {
  add(seq: number, names: ChangedNames): void;
  /**
   * Returns the names changed after entry `seq`. Null if that is too long ago, or if `seq` is beyond `foldedSeq`, the
   * newest entry folded here.
   */
  since(seq: number, foldedSeq: number): ChangedNames | null;
  clear(): void;
};

/** One minute of ticks. */
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
      for (const tick of recent) if (tick.seq > seq) addNames(names, tick.names);
      return names;
    },
    clear() {
      recent.length = 0;
    },
  };
}
