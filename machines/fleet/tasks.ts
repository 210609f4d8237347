/** Tasks: steps their machines, and keeps the index of what waits in each queue. */

import type { HookRun } from '../guards/task-hooks/hook.ts';
import type { TaskEvent } from '../task/events.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import { trackEscalation } from './escalations.ts';
import { type Fleet, queueOf, type TaskRecord } from './fleet.ts';
import { armForget, newlyNamed, noteStop } from './forgetting.ts';

/** `queue` null: in none until `task.created` gives one. */
export function createTask(fleet: Fleet, task: string, queue: string | null): void {
  fleet.tasks.set(task, { snapshot: fleet.taskStepper.start({ task, queue }), ...newlyNamed(fleet.nowMs) });
  fleet.watcher?.task(task, 'idle', 'idle', 'task.created');
}

/** Steps the machine, then keeps the indexes: escalations, dependents and queues. */
export function stepTask(fleet: Fleet, task: string, event: TaskEvent): void {
  const record = fleet.tasks.get(task);
  if (record === undefined) return;
  const before = record.snapshot;
  record.snapshot = fleet.taskStepper.next(before, event);
  fleet.watcher?.task(task, before.value, record.snapshot.value, event.type);
  const { context } = record.snapshot;
  if (context.escalation !== before.context.escalation) {
    const owner = fleet.workers.get(context.escalation?.worker ?? '')?.owner ?? null;
    trackEscalation(fleet, 'task', task, context.escalation !== null, owner);
  }
  if (context.hooks !== before.context.hooks && context.evaluations.length > 0) fleet.rehooked.add(task);
  if (context.after !== before.context.after) {
    for (const other of context.after) {
      const waiting = fleet.dependents.get(other) ?? new Set();
      fleet.dependents.set(other, waiting.add(task));
    }
  }
  noteTaskStop(fleet, task, record, before.context.after);
  const mayBeReady =
    record.snapshot.value !== before.value ||
    context.queue !== before.context.queue ||
    context.after !== before.context.after;
  if (!mayBeReady && event.type !== 'task.created') return;
  if (before.context.queue !== null && before.context.queue !== context.queue) {
    queueOf(fleet, before.context.queue).ready.delete(task);
    fleet.watcher?.queue(before.context.queue);
  }
  reindexTask(fleet, task);
  if (context.outcome !== before.context.outcome)
    for (const other of fleet.dependents.get(task) ?? []) reindexTask(fleet, other);
}

/** What it came after is not waited for any more, once it has stopped or names others. */
function noteTaskStop(fleet: Fleet, task: string, record: TaskRecord, after: readonly string[]): void {
  const isStopped = record.snapshot.value === 'stopped';
  const hasStopped = isStopped && record.stoppedMs === null;
  noteStop(fleet, record, isStopped);
  if (isStopped) armForget(fleet, 'forgetTask', task);
  if (hasStopped || after !== record.snapshot.context.after)
    for (const other of after) armForget(fleet, 'forgetTask', other);
}

/** Keeps with the task what its hooks answered. */
export function recordHookRuns(fleet: Fleet, task: string, attempt: string | null, runs: readonly HookRun[]): void {
  if (runs.length === 0) return;
  stepTask(fleet, task, { type: 'hooks.evaluated', runs, attempt, at: formatIsoTime(fleet.nowMs) });
  fleet.outcomes.push({ kind: 'hooksEvaluated', task, runs });
}

/** A task waits in its queue while it is idle and all that it comes after is completed. */
function reindexTask(fleet: Fleet, task: string): void {
  const snapshot = fleet.tasks.get(task)?.snapshot;
  if (snapshot === undefined || snapshot.context.queue === null) return;
  const { queue, after } = snapshot.context;
  const { ready } = queueOf(fleet, queue);
  const isReady =
    snapshot.value === 'idle' && after.every((it) => fleet.tasks.get(it)?.snapshot.context.outcome === 'completed');
  if (isReady !== ready.has(task)) fleet.watcher?.queue(queue);
  if (!isReady) ready.delete(task);
  else if (!ready.has(task)) {
    ready.add(task);
    fleet.arrivals.add(queue);
  }
}

export function refuseTask(fleet: Fleet, id: string, type: string, reason: string): void {
  const refused = { at: formatIsoTime(fleet.nowMs), type, reason };
  stepTask(fleet, id, { type: 'entry.refused', refused });
  fleet.outcomes.push({ kind: 'refused', entity: 'task', id, type, reason });
}
