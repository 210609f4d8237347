/**
 * The fleet as actors, for XState inspectors: on every connection each actor with its definition and its current state,
 * then its steps, ten times a second. Such inspectors are made for a handful of actors, so a connection shows at most
 * fifty. For a client that does not read, only the latest step of each actor is kept.
 */
import type { Fleet } from '../../../machines/index.ts';
import { createGuarded } from '../../guarded.ts';
import type { Observe } from '../../host/observers.ts';
import type { Logger } from '../../log.ts';
import { addStep, type Connection, type FeedClient, flush, show } from './connection.ts';
import { type ActorRef, actorsOf, capture } from './fleet-actors.ts';

export type Feed = {
  /** `worker`: only this one, with its tasks and subagents. @returns how many actors are left out, and how to leave */
  join(client: FeedClient, worker: string | null): { readonly hidden: number; readonly leave: () => void };
  close(): void;
};

const tickMs = 100;

export function createFeed(fleet: Fleet, observe: Observe, logger: Logger): Feed {
  const guarded = createGuarded(logger, 'a message to the inspectors');
  const connections = new Set<Connection>();
  let stop: (() => void) | null = null;

  const onStep = (ref: ActorRef, event: string) => {
    const captured = capture(fleet, ref);
    if (captured === null) return;
    for (const it of connections) addStep(fleet, it, ref, { event, captured, atMs: fleet.nowMs });
  };
  const start = () => {
    if (stop !== null) return;
    const ignore = observe({
      worker: (id, _from, _to, event) => onStep({ entity: 'worker', id }, event),
      task: (id, _from, _to, event) => onStep({ entity: 'task', id }, event),
    });
    const timer = setInterval(() => {
      for (const it of connections) guarded(() => flush(it, fleet.nowMs));
    }, tickMs);
    stop = () => {
      ignore();
      clearInterval(timer);
      stop = null;
    };
  };

  return {
    join(client, worker) {
      start();
      const connection: Connection = { client, worker, shown: new Map() };
      const actors = actorsOf(fleet, worker);
      for (const ref of actors) show(fleet, connection, ref);
      connections.add(connection);
      flush(connection, fleet.nowMs);
      return {
        hidden: actors.length - connection.shown.size,
        leave() {
          connections.delete(connection);
          if (connections.size === 0) stop?.();
        },
      };
    },
    close: () => stop?.(),
  };
}
