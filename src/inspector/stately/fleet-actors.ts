/** Workers and tasks of a fleet as actors of XState inspectors: their snapshots, their parents, and which come first. */
import type { Fleet } from '../../../machines/index.ts';
import type { Actor, Captured } from './frames.ts';

export type Entity = Actor['entity'];
export type ActorRef = { readonly entity: Entity; readonly id: string };

export const sessionIdOf = ({ entity, id }: ActorRef): string => `${entity}:${id}`;

/** Null: unknown. */
export function capture(fleet: Fleet, { entity, id }: ActorRef): Captured | null {
  if (entity === 'worker') {
    const snapshot = fleet.workers.read(id)?.snapshot;
    return snapshot === undefined ? null : { entity, snapshot };
  }
  const snapshot = fleet.tasks.get(id)?.snapshot;
  return snapshot === undefined ? null : { entity, snapshot };
}

/** The worker that holds a task, or that a worker is a subagent of. */
export const parentOf = (fleet: Fleet, { entity, id }: ActorRef): string | null =>
  (entity === 'worker'
    ? fleet.workers.read(id)?.snapshot.context.worker.parent
    : fleet.tasks.get(id)?.snapshot.context.worker) ?? null;

/** Whether an actor belongs to `worker`: the worker itself, its tasks and subagents. Null: all do. */
export const belongsTo = (fleet: Fleet, worker: string | null, actor: ActorRef): boolean =>
  worker === null || (actor.entity === 'worker' && actor.id === worker) || parentOf(fleet, actor) === worker;

/** Workers first, the most recent at the front; then held tasks, then the newest. */
export function actorsOf(fleet: Fleet, worker: string | null): ActorRef[] {
  const workers = [...fleet.workers]
    .sort(([, one], [, other]) => other.lastSeenMs - one.lastSeenMs)
    .map(([id]): ActorRef => ({ entity: 'worker', id }))
    .sort((one, other) => Number(other.id === worker) - Number(one.id === worker));
  const tasks = [...fleet.tasks.keys()].reverse().map((id): ActorRef => ({ entity: 'task', id }));
  const isHeld = (task: ActorRef) => parentOf(fleet, task) !== null;
  return [...workers, ...tasks.filter(isHeld), ...tasks.filter((task) => !isHeld(task))].filter((actor) =>
    belongsTo(fleet, worker, actor),
  );
}
