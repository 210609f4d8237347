/** What has happened since the last tick: changed names, counted transitions, and how many entries were folded. */
import { type State, workerStates } from '../../../machines/index.ts';
import type { Topic, Transition } from '../messages.ts';
import { type ChangedNames, noNames } from './changed-names.ts';

export type TickChanges = {
  readonly names: ChangedNames;
  readonly transitions: readonly Transition[];
  readonly entries: number;
};
export type Changes = {
  transition(entity: Topic['entity'], id: string, from: State, to: State, event: string): void;
  queue(queue: string): void;
  entry(): void;
  /** The names so far. */
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
