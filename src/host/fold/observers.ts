/**
 * Observers: whoever looks on while the log is folded, such as pages, inspectors and callers that wait for a change.
 * This is the only place that calls them. One that throws is logged, and affects neither the fold nor its answers.
 */
import type { Fleet, FleetWatcher } from '../../../machines/index.ts';
import type { Logger } from '../../log.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';

/**
 * An observer is called synchronously, so it should only note what it gets. The first three come from within the fold.
 */
export type Observer = Partial<FleetWatcher> & {
  /** Each message of the log, after it was folded. */
  folded?(message: LogMessage): void;
  /** The workers and tasks (`actorKey`) whose escalation, or whose requests to a person, may have changed. */
  touched?(actors: ReadonlySet<string>): void;
  /** Each worker whose check replied that it has no result yet. */
  pending?(worker: string): void;
};

/** @returns a function that removes it */
export type Observe = (observer: Observer) => () => void;

export type Observers = Required<Observer> & { readonly add: Observe };

export function createObservers(fleet: Fleet, logger: Logger): Observers {
  const observers = new Map<Observer, Guarded>();
  /** Nothing is made for those who do not want to be told; `a` to `d` are no list, which would be made for all. */
  const tell = (name: keyof Observer, a: unknown, b?: unknown, c?: unknown, d?: unknown) => {
    for (const [observer, guarded] of observers) {
      const on = observer[name] as ((...told: unknown[]) => void) | undefined;
      if (on !== undefined) guarded(() => on.call(observer, a, b, c, d));
    }
  };
  const watcher: FleetWatcher = {
    worker: (worker, from, to, event) => tell('worker', worker, from, to, event),
    task: (task, from, to, event) => tell('task', task, from, to, event),
    queue: (queue) => tell('queue', queue),
  };
  return {
    ...watcher,
    folded: (message) => tell('folded', message),
    touched: (actors) => tell('touched', actors),
    pending: (worker) => tell('pending', worker),
    add(observer) {
      observers.set(observer, createGuarded(logger, 'an observer of the fold'));
      // While nobody looks on, the fold reports to nobody.
      fleet.watcher = watcher;
      return () => {
        observers.delete(observer);
        if (observers.size === 0) fleet.watcher = null;
      };
    },
  };
}

type Guarded = (work: () => void) => void;

/**
 * Makes what runs those who only look on: an error in one is a bug of ours, which is logged, and whatever runs it goes on.
 *
 * @param what fails, for the log. The first error is logged as such and later ones for debugging only, since they may
 *   come with every entry
 */
export function createGuarded(logger: Logger, what: string): Guarded {
  let hasFailed = false;
  return (work) => {
    try {
      work();
    } catch (error) {
      logger[hasFailed ? 'debug' : 'error']({ err: error }, `${what} failed: a bug`);
      hasFailed = true;
    }
  };
}
