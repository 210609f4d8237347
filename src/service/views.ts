/** The views of actors (workers, tasks and queues), from the current state of the fold. */
import {
  formatIsoTime,
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

/** Returns null if the actor is unknown. */
export function viewActor(host: Host, entity: Entity, id: string): View | null {
  const { fleet } = host;
  if (entity === 'worker') return viewWorkerOf(host, id);
  return entity === 'task' ? viewTask(fleet, id) : viewQueue(fleet, id);
}

/** Creates a worker's view, including the reply of its pending check. */
export function viewWorkerOf({ fleet, logNow, pendingReply }: WorkerSource, worker: string): WorkerView | null {
  const reply = pendingReply(worker);
  if (reply === null) return viewWorker(fleet, worker, logNow());
  const { check, reason, askedAgainMs } = reply;
  return viewWorker(fleet, worker, logNow(), { check, reason, askedAgainAt: formatIsoTime(askedAgainMs) });
}
type WorkerSource = Pick<Host, 'fleet' | 'logNow' | 'pendingReply'>;

/** @throws AppError actor.unknown */
export function findActor(host: Host, entity: Entity, id: string): View {
  const view = viewActor(host, entity, id);
  if (view !== null) return view;
  throw new AppError('actor.unknown', `${entity} ${id} is unknown in fleet ${host.fleet.name}`);
}
