/** A fleet has room for one watcher; this one shares it. While nobody watches, the fold reports to nobody. */
import type { Fleet, FleetWatcher } from '../../machines/index.ts';

/** @returns a function that stops watching */
export type Watch = (watcher: FleetWatcher) => () => void;

export function createSharedWatcher(fleet: Fleet): Watch {
  const watchers = new Set<FleetWatcher>();
  const all: FleetWatcher = {
    worker: (worker, from, to, event) => {
      for (const it of watchers) it.worker(worker, from, to, event);
    },
    task: (task, from, to, event) => {
      for (const it of watchers) it.task(task, from, to, event);
    },
    queue: (queue) => {
      for (const it of watchers) it.queue(queue);
    },
  };
  return (watcher) => {
    watchers.add(watcher);
    fleet.watcher = all;
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0) fleet.watcher = null;
    };
  };
}
