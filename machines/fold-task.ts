/** Folds entries about tasks, and keeps the index of what waits in each queue (protocol 3, 4 and 7). */
import type { OwnTaskEntry, TaskEntry } from './entry.ts';
import { hooksMax } from './entry.ts';
import { beginEvaluation, resumeEvaluation } from './evaluation.ts';
import { type Fleet, queueOf, type TaskRecord } from './fleet.ts';
import { clearFilesOf, loseTask } from './fold-worker.ts';
import { formatIsoTime } from './iso-time.ts';
import type { TaskEvent } from './task.ts';

/** Types that create a task which nobody has heard of; with `task.created` alone it gets a queue. */
const creating: ReadonlySet<string> = new Set(['task.created', 'hook.registered', 'iteration.started', 'checkpoint.saved']);

export function foldTask(fleet: Fleet, entry: TaskEntry, seq: number): void {
  const { id, type } = entry;
  if (!fleet.tasks.has(id)) {
    if (!creating.has(type)) {
      fleet.outcomes.push({ kind: 'refused', entity: 'task', id, type, reason: `task ${id} is unknown` });
      return;
    }
    createTask(fleet, id, null);
  }
  const record = fleet.tasks.get(id) as TaskRecord;
  const reason = refusalOf(record, entry);
  if (reason !== null) {
    refuseTask(fleet, id, type, reason);
    return;
  }
  if (entry.type === 'iteration.validated') {
    beginEvaluation(fleet, entry, seq);
    return;
  }
  const { worker } = record.snapshot.context;
  moveTask(fleet, id, { type, data: entry.data, at: formatIsoTime(fleet.nowMs) } as TaskEvent);
  if (worker !== null && type === 'task.cancelled') loseTask(fleet, worker, id);
  if (worker !== null && (type === 'iteration.started' || type === 'iteration.advanced')) clearFilesOf(fleet, worker);
}

/** Why the entry makes no sense now, or null. */
function refusalOf({ snapshot: { context, value } }: TaskRecord, entry: TaskEntry): string | null {
  const { hooks, iteration } = context;
  switch (entry.type) {
    case 'task.cancelled':
      return value === 'stopped' ? `task ${context.task} is ${context.outcome ?? 'stopped'}` : null;
    case 'hook.registered':
      if (hooks.some((it) => it.hook === entry.data.hook)) return `hook ${entry.data.hook} exists`;
      return hooks.length >= hooksMax ? `task ${context.task} has ${hooksMax} hooks, the most there may be` : null;
    case 'hook.enabled':
    case 'hook.disabled':
      return hooks.some((it) => it.hook === entry.data.hook) ? null : `hook ${entry.data.hook} is unknown`;
    case 'iteration.validated':
    case 'iteration.completed':
    case 'iteration.advanced':
      if (iteration === null) return 'no iteration was started';
      if (iteration.completed) return `iteration ${iteration.iteration} is completed`;
      if (entry.type !== 'iteration.advanced') {
        const { iteration: named } = entry.data;
        return named === iteration.iteration ? null : `iteration ${named} is not the current one, ${iteration.iteration}`;
      }
      return iteration.iteration < iteration.maxIterations ? null : `iteration ${iteration.iteration} is the last`;
    default:
      return null;
  }
}

function refuseTask(fleet: Fleet, id: string, type: string, reason: string): void {
  const refused = { at: formatIsoTime(fleet.nowMs), type, reason };
  moveTask(fleet, id, { type: 'entry.refused', refused });
  fleet.outcomes.push({ kind: 'refused', entity: 'task', id, type, reason });
}

export function foldOwnTask(fleet: Fleet, entry: OwnTaskEntry): void {
  const record = fleet.tasks.get(entry.id);
  if (record === undefined) return;
  if (entry.type === 'check.finished') resumeEvaluation(fleet, entry.id, entry.data.attempt, entry.data);
  if (entry.type !== 'escalation.resolved' && entry.type !== 'escalation.acknowledged') return;
  if (record.snapshot.value !== 'escalated') refuseTask(fleet, entry.id, entry.type, `task ${entry.id} is not escalated`);
  else if (entry.type === 'escalation.resolved') moveTask(fleet, entry.id, { type: entry.type, verdict: entry.data.verdict });
}

/** `queue` null: in none until `task.created` gives one. */
export function createTask(fleet: Fleet, task: string, queue: string | null): void {
  fleet.tasks.set(task, { snapshot: fleet.task.start({ task, queue }) });
}

/** Steps a task's machine and keeps the queues' index. */
export function moveTask(fleet: Fleet, task: string, event: TaskEvent): void {
  const record = fleet.tasks.get(task);
  if (record === undefined) return;
  const before = record.snapshot;
  record.snapshot = fleet.task.next(before, event);
  const { context } = record.snapshot;
  if (context.after !== before.context.after) {
    for (const other of context.after) {
      const waiting = fleet.dependents.get(other) ?? new Set();
      fleet.dependents.set(other, waiting.add(task));
    }
  }
  const moved = record.snapshot.value !== before.value || context.queue !== before.context.queue || context.after !== before.context.after;
  if (!moved && event.type !== 'task.created') return;
  if (before.context.queue !== null && before.context.queue !== context.queue) queueOf(fleet, before.context.queue).ready.delete(task);
  reindexTask(fleet, task);
  if (context.outcome !== before.context.outcome) for (const other of fleet.dependents.get(task) ?? []) reindexTask(fleet, other);
}

/** A task waits in its queue while it is idle and all that it comes after is completed. */
function reindexTask(fleet: Fleet, task: string): void {
  const snapshot = fleet.tasks.get(task)?.snapshot;
  if (snapshot === undefined || snapshot.context.queue === null) return;
  const { queue, after } = snapshot.context;
  const { ready } = queueOf(fleet, queue);
  const isReady =
    snapshot.value === 'idle' && after.every((it) => fleet.tasks.get(it)?.snapshot.context.outcome === 'completed');
  if (!isReady) ready.delete(task);
  else if (!ready.has(task)) {
    ready.add(task);
    fleet.arrivals.add(queue);
  }
}
