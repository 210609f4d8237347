/**
 * Folds entries about tasks: entries that are not valid in the current state are refused (protocol.md §3, §4 and §7).
 */
import type { TaskEntry } from '../entries/index.ts';
import type { TaskEvent, TaskSurroundings } from '../task/context.ts';
import { dependentsMax } from '../values/limits.ts';
import { type Fleet, placeOf, type TaskRecord } from './fleet.ts';
import { ownerFor } from './owner.ts';
import { clearFilesOf, loseTask, planFault, planTask } from './queues/claims.ts';
import { trackAttendance } from './queues/queues.ts';
import { describeFull, isStateFull } from './state-size.ts';
import { createTask, refuseTask, stepTaskWithin, taskSurroundings } from './tasks.ts';
import { armStaleDeadlines } from './time/due-time.ts';

/** Types that create an unknown task; only `task.created` gives it a queue. */
const creating: ReadonlySet<string> = new Set([
  'task.created',
  'hook.registered',
  'iteration.started',
  'checkpoint.saved',
]);

export function foldTask(fleet: Fleet, entry: TaskEntry, owner: string | null): void {
  const { id, type } = entry;
  if (!fleet.tasks.has(id)) {
    const reason = !creating.has(type)
      ? `task ${id} is unknown`
      : isStateFull(fleet)
        ? describeFull(fleet.stateSizeMax)
        : null;
    if (reason !== null) {
      fleet.outcomes.push({ kind: 'refused', entity: 'task', id, type, reason });
      return;
    }
    createTask(fleet, id, null);
  }
  const record = fleet.tasks.get(id) as TaskRecord;
  record.namedMs = fleet.nowMs;
  const fault = dependentsFault(fleet, entry) ?? holderFault(fleet, record, entry);
  if (fault !== null) {
    refuseTask(fleet, id, type, fault);
    return;
  }
  const { worker } = record.snapshot.context;
  const facts = factsOf(fleet, entry, owner);
  const event = { type, data: entry.data, ...placeOf(fleet), facts } as TaskEvent;
  if (!stepTaskWithin(fleet, id, record, event) || worker === null) return;
  if (type === 'task.created') {
    if (entry.data.plan !== undefined) planTask(fleet, worker, id, entry.data.plan);
    // Its policy may have changed, and with that its worker's queue.
    const holder = fleet.workers.get(worker);
    if (holder !== undefined) trackAttendance(fleet, holder);
    armStaleDeadlines(fleet, worker);
  }
  if (type === 'task.cancelled') loseTask(fleet, worker, id);
  if (type === 'iteration.started' || type === 'iteration.advanced') clearFilesOf(fleet, worker);
}

/**
 * Says why a new task is refused: the end of a task steps all of its dependents, so their number has a bound. Null: it
 * is not.
 */
function dependentsFault({ dependents }: Fleet, entry: TaskEntry): string | null {
  if (entry.type !== 'task.created') return null;
  const full = entry.data.after?.find((it) => {
    const known = dependents.get(it);
    return known !== undefined && known.size >= dependentsMax && !known.has(entry.id);
  });
  return full === undefined ? null : `task ${full} has ${dependentsMax} dependents, the most there may be`;
}

/** Says why the new plan of a held task is refused: it becomes a part of its worker's. Null: it is not. */
function holderFault(fleet: Fleet, { snapshot }: TaskRecord, entry: TaskEntry): string | null {
  if (entry.type !== 'task.created' || entry.data.plan === undefined) return null;
  const holder = fleet.workers.get(snapshot.context.worker ?? '');
  return holder === undefined ? null : planFault(holder.snapshot.context.worker, entry.id, entry.data.plan);
}

/** Returns the facts about a task. Only hooks read the worker that holds it. */
function factsOf(fleet: Fleet, { id, type, data }: TaskEntry, owner: string | null): TaskSurroundings | undefined {
  if (type !== 'iteration.validated') return fleet.evaluating.has(id) ? taskSurroundings(fleet, id) : undefined;
  const key = `${id}:${data.attempt ?? `seq-${fleet.seq}`}`;
  return { ...taskSurroundings(fleet, id), owner: ownerFor(fleet, key, owner) };
}
