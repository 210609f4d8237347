/** Actors as requests name and show them: workers, tasks and queues, as the fold has them now. */
import {
  type QueueView,
  type TaskView,
  viewQueue,
  viewTask,
  viewWorker,
  type WorkerView,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';

export type Entity = 'worker' | 'task' | 'queue';
export const entities: readonly Entity[] = ['worker', 'task', 'queue'];
export type View = WorkerView | TaskView | QueueView;

/** Null: unknown. */
export function viewActor({ fleet, logNow }: Host, entity: Entity, id: string): View | null {
  if (entity === 'worker') return viewWorker(fleet, id, logNow());
  return entity === 'task' ? viewTask(fleet, id) : viewQueue(fleet, id);
}

/** @throws AppError actor.unknown */
export function findActor(host: Host, entity: Entity, id: string): View {
  const view = viewActor(host, entity, id);
  if (view !== null) return view;
  throw new AppError('actor.unknown', `${entity} ${id} is unknown in fleet ${host.fleet.name}`);
}
