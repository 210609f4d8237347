/**
 * Finds the workers and tasks that wait for a person. Agents that give up soon come first, then the other agents, then
 * the tasks that wait without an agent. Each kind has the longest wait first and acknowledged ones last.
 */
import type { FleetStore } from '../data/fleet-store.ts';
import type { TaskRow, WorkerRow } from '../data/rows.ts';

export type Waiting = { readonly entity: 'worker' | 'task'; readonly id: string };
export type TaskOfWorker = { readonly id: string; readonly worker: string };
type Fleet = Pick<FleetStore, 'workers' | 'tasks' | 'waitingWorkers' | 'waitingTasks'>;

/** `untilMs`: when its agent gives up waiting for an answer. Null if it waits without an end. */
type Found = Waiting & { readonly sinceMs: number; readonly untilMs: number | null; readonly isAcknowledged: boolean };

/** @param nowMs by the log's clock */
export function findWaiting(fleet: Fleet, nowMs: number): Found[] {
  const workers = rowsOf(fleet.workers, fleet.waitingWorkers).map(
    (row): Found => ({
      entity: 'worker',
      id: row.id,
      sinceMs: waitSinceOf(row),
      untilMs: row.askUntilMs !== null && row.askUntilMs > nowMs ? row.askUntilMs : null,
      isAcknowledged: row.isAcknowledged,
    }),
  );
  const tasks = rowsOf(fleet.tasks, fleet.waitingTasks)
    .filter((row) => !isShownWithWorker(fleet, row))
    .map(
      (row): Found => ({
        entity: 'task',
        id: row.id,
        sinceMs: taskWaitSinceOf(row),
        untilMs: null,
        isAcknowledged: row.isAcknowledged,
      }),
    );
  return [...workers, ...tasks].sort(
    (a, b) => placeOf(a) - placeOf(b) || (a.untilMs ?? 0) - (b.untilMs ?? 0) || a.sinceMs - b.sinceMs,
  );
}

function placeOf({ entity, untilMs, isAcknowledged }: Found): number {
  if (untilMs !== null) return 0;
  return (entity === 'worker' ? 1 : 3) + Number(isAcknowledged);
}

/** Why an item that is kept in its place is not among the waiting ones. */
export function describeGone({ isAnswered, isSnoozed }: { isAnswered: boolean; isSnoozed: boolean }): string {
  if (isAnswered) return 'answered';
  return isSnoozed ? 'snoozed' : 'no longer waiting';
}

export const waitSinceOf = (row: WorkerRow): number => row.personSinceMs ?? row.sinceMs;
export const taskWaitSinceOf = (row: TaskRow): number => row.escalatedSinceMs ?? row.sinceMs;

function rowsOf<Row>(rows: ReadonlyMap<string, Row>, ids: ReadonlySet<string>): Row[] {
  return [...ids].map((id) => rows.get(id)).filter((row) => row !== undefined);
}

/** The tasks that share an inbox item with one of these workers, whose answer form asks what happens to them. */
export function tasksShownWith(fleet: Fleet, workers: ReadonlySet<string>): TaskOfWorker[] {
  return rowsOf(fleet.tasks, fleet.waitingTasks)
    .map((row) => ({ row, id: row.id, worker: row.escalatedWith ?? '' }))
    .filter(({ row, worker }) => workers.has(worker) && isShownWithWorker(fleet, row))
    .map(({ id, worker }) => ({ id, worker }));
}

/**
 * A task and the worker it was escalated with are one inbox item until the worker is resolved. The times of the
 * escalations tell, not those of the states: a further attempt moves the worker, but keeps its escalation.
 */
export function isShownWithWorker({ workers }: Pick<Fleet, 'workers'>, task: TaskRow): boolean {
  const worker = workers.get(task.escalatedWith ?? '');
  if (worker === undefined || worker.escalatedFor === null) return false;
  // If the worker was escalated again later, it waits for something else.
  return waitSinceOf(worker) <= taskWaitSinceOf(task);
}

/** Says what became of the worker that a task was escalated with. Null if it was escalated alone. */
export function noteOnWorker({ workers }: Pick<Fleet, 'workers'>, task: TaskRow): string | null {
  const { escalatedWith: id } = task;
  if (id === null) return null;
  const isAgain = (workers.get(id)?.escalatedFor ?? null) !== null;
  return `Escalated with ${id}, which ${isAgain ? 'waits for something else now' : 'no longer waits'}`;
}
