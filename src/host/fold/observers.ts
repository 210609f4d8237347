/**
 * Observers watch the fold: pages, inspectors, and callers that wait for a change. Only this file calls them. An error
 * in one is logged and affects neither the fold nor its answers.
 */
import type { Fleet, FleetWatcher } from '../../../machines/index.ts';
import type { Logger } from '../../log.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';

/**
 * Methods are called synchronously, those of `FleetWatcher` from within the fold, so they should only record the
 * change.
 */
export type Observer = Partial<FleetWatcher> & {
  /** Called after each message of the log is folded. */
  folded?(message: LogMessage): void;
  /** Called with the workers and tasks (`actorKey`) whose escalation or requests to a person may have changed. */
  touched?(actors: ReadonlySet<string>): void;
  /** Called when a worker's check replied `pending`. */
  pending?(worker: string): void;
};

/** @returns a function that removes the observer */
export type Observe = (observer: Observer) => () => void;

export type Observers = Required<Observer> & { readonly add: Observe };

export function createObservers(fleet: Fleet, logger: Logger): Observers {
  const observers = new Map<Observer, Guarded>();
  /** Allocates nothing unless an observer has the method, hence no rest parameter. */
  const notify = (name: keyof Observer, a: unknown, b?: unknown, c?: unknown, d?: unknown) => {
    for (const [observer, guarded] of observers) {
      const method = observer[name] as ((...values: unknown[]) => void) | undefined;
      if (method !== undefined) guarded(() => method.call(observer, a, b, c, d));
    }
  };
  const watcher: FleetWatcher = {
    worker: (worker, from, to, event) => notify('worker', worker, from, to, event),
    task: (task, from, to, event) => notify('task', task, from, to, event),
    queue: (queue) => notify('queue', queue),
  };
  return {
    ...watcher,
    folded: (message) => notify('folded', message),
    touched: (actors) => notify('touched', actors),
    pending: (worker) => notify('pending', worker),
    add(observer) {
      observers.set(observer, createGuarded(logger, 'an observer of the fold'));
      // Without observers the fold skips its reports.
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
 * Returns a function that runs `work` and logs an error instead of throwing it. Such an error is our own bug. Only the
 * first one is logged with the level `error`; later ones, which may come with every entry, with `debug`.
 * @param what names the work in the log
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
