/** Finds the workers and tasks that wait for a person, the longest wait first. */
import type { FleetStore } from '../data/fleet-store.ts';
import { stateOf, type TaskRow, urgencyOf } from '../data/rows.ts';

export type Waiting = { readonly entity: 'worker' | 'task'; readonly id: string };
export type TaskOfWorker = { readonly id: string; readonly worker: string };
type Fleet = Pick<FleetStore, 'workers' | 'tasks' | 'waitingWorkers' | 'waitingTasks'>;

export function findWaiting(fleet: Fleet): Waiting[] {
  const workers = rowsOf(fleet.workers, fleet.waitingWorkers).sort((a, b) => urgencyOf(a) - urgencyOf(b));
  const tasks = rowsOf(fleet.tasks, fleet.waitingTasks)
    .filter((row) => !isShownWithWorker(fleet, row))
    .sort((a, b) => (a.stateSinceMs ?? 0) - (b.stateSinceMs ?? 0));
  return [
    ...workers.map((row) => ({ entity: 'worker', id: row.id }) as const),
    ...tasks.map((row) => ({ entity: 'task', id: row.id }) as const),
  ];
}

function rowsOf<Row>(rows: ReadonlyMap<string, Row>, ids: ReadonlySet<string>): Row[] {
  return [...ids].map((id) => rows.get(id)).filter((row) => row !== undefined);
}

/** The tasks that are one item with one of these workers: what becomes of them is asked with it. */
export function tasksShownWith(fleet: Fleet, workers: ReadonlySet<string>): TaskOfWorker[] {
  return rowsOf(fleet.tasks, fleet.waitingTasks)
    .map((row) => ({ row, id: row.id, worker: row.escalatedWith ?? '' }))
    .filter(({ row, worker }) => workers.has(worker) && isShownWithWorker(fleet, row))
    .map(({ id, worker }) => ({ id, worker }));
}

/** A task and the worker that it was escalated with are one thing to look at, until the worker is resolved. */
function isShownWithWorker({ workers }: Fleet, task: TaskRow): boolean {
  const worker = workers.get(task.escalatedWith ?? '');
  if (worker === undefined || stateOf(worker.state) !== 'escalated') return false;
  // One that was resolved and is escalated again waits for something else.
  return (worker.stateSinceMs ?? 0) <= (task.stateSinceMs ?? 0);
}
