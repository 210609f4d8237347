/** Steps the machines of tasks, and maintains the indexes that depend on them. */
import type { RefusedEntry } from '../entries/refusal.ts';
import { empty, type TaskContext } from '../task/context.ts';
import type { TaskEvent, TaskSurroundings } from '../task/events.ts';
import { formatIsoTime } from '../values/time.ts';
import { actorKey, type Fleet, moveOf, queueOf, type TaskRecord } from './fleet.ts';
import { trackEscalation } from './owner.ts';
import { trackQueue } from './queues/attendance.ts';
import { trackPastClaim } from './queues/past-claims.ts';
import { changeQueue } from './queues/queues.ts';
import { createTaskRecord } from './records.ts';
import { actorSize, describeFull, exceedsState, growthOfTask } from './state-size.ts';
import { armForget, noteStop } from './time/forgetting.ts';

/** `queue` is null until `task.created` assigns one. */
export function createTask(fleet: Fleet, task: string, queue: string | null): void {
  const snapshot = fleet.taskStepper.start({ fleet: fleet.name, task, queue });
  const { nowMs, seq } = fleet;
  fleet.tasks.set(task, createTaskRecord(snapshot, { namedMs: nowMs, createdMs: nowMs, createdSeq: seq }));
  fleet.stateSize += actorSize;
  changeQueue(fleet, task, null, queue);
  fleet.watcher?.task(task, 'idle', 'idle', 'task.created');
}

/** Returns the reason for refusing an entry that would create its task, or null. Refused entries create no task. */
export function creationFault(fleet: Fleet, task: string, event: TaskEvent): string | null {
  const fresh = fleet.taskStepper.start({ fleet: fleet.name, task, queue: null });
  const { context } = fleet.taskStepper.next(fresh, event);
  const refused = context.refused.at(-1)?.reason ?? null;
  if (refused !== null) return refused;
  const growth = actorSize + growthOfTask(fresh.context, context);
  return exceedsState(fleet, growth) ? describeFull(fleet.stateSizeMax) : null;
}

/** Steps the machine, then updates the indexes of escalations, dependents and queues. */
export function stepTask(fleet: Fleet, task: string, event: TaskEvent): void {
  const record = fleet.tasks.get(task);
  if (record === undefined) return;
  const next = fleet.taskStepper.next(record.snapshot, event);
  moveTask(fleet, task, record, next, event.type, growthOfTask(record.snapshot.context, next.context));
}

/**
 * Steps the machine with an agent's entry, or refuses the entry if the fleet would exceed its size limit.
 * @param workerGrowth how much the entry adds to the size of the task's worker
 * @returns whether the entry took effect: false if the fleet or the machine refused it
 */
export function stepTaskWithin(
  fleet: Fleet,
  task: string,
  record: TaskRecord,
  event: TaskEvent,
  workerGrowth: number,
): boolean {
  const before = record.snapshot.context;
  const next = fleet.taskStepper.next(record.snapshot, event);
  const isRefused = next.context.refused !== before.refused;
  const growth = growthOfTask(before, next.context);
  if (isRefused ? !exceedsState(fleet, growth) : !exceedsState(fleet, growth + workerGrowth)) {
    moveTask(fleet, task, record, next, event.type, growth);
    return !isRefused;
  }
  const reason = isRefused ? next.context.refused.at(-1)?.reason : undefined;
  refuseTask(fleet, task, event.type, reason ?? describeFull(fleet.stateSizeMax));
  return false;
}

function moveTask(
  fleet: Fleet,
  task: string,
  record: TaskRecord,
  next: TaskRecord['snapshot'],
  event: string,
  growth: number,
): void {
  const before = record.snapshot;
  record.snapshot = next;
  fleet.stateSize += growth;
  fleet.watcher?.task(task, before.value, record.snapshot.value, event);
  if (record.snapshot.value !== before.value)
    record.lastMove = moveOf(fleet, before.value, record.snapshot.value, event);
  const { context } = record.snapshot;
  if (context.escalation !== before.context.escalation) {
    const owner = fleet.workers.get(context.escalation?.worker ?? '')?.owner ?? null;
    trackEscalation(fleet, 'task', task, context.escalation !== null, owner);
  }
  if (context.refused !== before.context.refused) {
    const { type, reason } = context.refused.at(-1) as RefusedEntry;
    fleet.outcomes.push({ kind: 'refused', entity: 'task', id: task, type, reason });
  }
  if (context.evaluations !== before.context.evaluations || context.validated !== before.context.validated)
    propagateEvaluations(fleet, task, before.context, context);
  if (context.worker !== before.context.worker) trackPastClaim(fleet, task, before.context, context);
  const isStopped = record.snapshot.value === 'stopped';
  noteStop(fleet, 'forgetTask', task, record, isStopped);
  const waitedFor = before.value === 'stopped' ? empty : before.context.after;
  const waitsFor = isStopped ? empty : context.after;
  if (waitsFor !== waitedFor) trackDependencies(fleet, task, record, waitedFor, waitsFor);
  const mayBeReady =
    record.snapshot.value !== before.value ||
    context.queue !== before.context.queue ||
    context.after !== before.context.after;
  if (!mayBeReady && event !== 'task.created') return;
  if (before.context.queue !== context.queue) changeQueue(fleet, task, before.context.queue, context.queue);
  reindexTask(fleet, task);
  if (context.outcome === 'completed' && before.context.outcome === null) releaseDependents(fleet, task);
}

/** Updates the index of dependents when the tasks that `task` waits for change from `before` to `after`. */
function trackDependencies(
  fleet: Fleet,
  task: string,
  record: TaskRecord,
  before: readonly string[],
  after: readonly string[],
): void {
  for (const other of before) {
    const waiting = fleet.dependents.get(other);
    waiting?.delete(task);
    if (waiting?.size === 0) fleet.dependents.delete(other);
  }
  const open = new Set(after);
  for (const other of open) {
    const waiting = fleet.dependents.get(other) ?? new Set();
    fleet.dependents.set(other, waiting.add(task));
    if (isCompleted(fleet, other)) open.delete(other);
  }
  record.openAfter = open.size;
  for (const other of before) armForget(fleet, 'forgetTask', other);
}

const isCompleted = (fleet: Fleet, task: string): boolean =>
  fleet.tasks.get(task)?.snapshot.context.outcome === 'completed';

/** Reports results of iterations, and tracks evaluations that wait for a hook. */
function propagateEvaluations(fleet: Fleet, task: string, before: TaskContext, after: TaskContext): void {
  for (const { attempt, result, runs } of after.validated === before.validated ? [] : after.validated) {
    if (runs.length > 0) fleet.outcomes.push({ kind: 'hooksEvaluated', task, runs });
    fleet.outcomes.push({ kind: 'validated', task, attempt, result });
  }
  if (after.evaluations !== before.evaluations) fleet.touched.add(actorKey('task', task));
  for (const { attempt, pending } of after.evaluations) {
    if (before.evaluations.some((evaluation) => evaluation.pending === pending)) continue;
    fleet.deadlines.push({ atMs: pending.deadlineMs, kind: 'evaluation', id: task, attempt });
  }
  if (after.evaluations.length > 0) fleet.evaluating.add(task);
  else fleet.evaluating.delete(task);
}

/** Returns the facts that a task's hooks read: the files and labels of the worker that holds it. */
export function taskSurroundings(fleet: Fleet, task: string): TaskSurroundings {
  const holder = fleet.tasks.get(task)?.snapshot.context.worker ?? '';
  const worker = fleet.workers.get(holder)?.snapshot.context.worker;
  return { files: worker?.files, filesUnknown: worker?.filesUnknown, labels: worker?.labels };
}

function releaseDependents(fleet: Fleet, task: string): void {
  for (const other of fleet.dependents.get(task) ?? []) {
    const record = fleet.tasks.get(other);
    if (record === undefined) continue;
    record.openAfter -= 1;
    // The machine of the dependent does not step, but its view shows which tasks it waits for.
    const { value } = record.snapshot;
    fleet.watcher?.task(other, value, value, 'task.completed');
    if (record.openAfter === 0) reindexTask(fleet, other);
  }
}

/** A task is ready in its queue while it is idle and all tasks in its `after` are completed. */
function reindexTask(fleet: Fleet, task: string): void {
  const record = fleet.tasks.get(task);
  const queue = record?.snapshot.context.queue ?? null;
  if (record === undefined || queue === null) return;
  const { ready } = queueOf(fleet, queue);
  const isReady = record.snapshot.value === 'idle' && record.openAfter === 0;
  const wasReady = ready.has(task);
  if (isReady || wasReady) fleet.watcher?.queue(queue);
  const { priority } = record.snapshot.context;
  if (isReady) ready.add({ task, priority, createdSeq: record.createdSeq });
  else ready.delete(task);
  if (isReady && !wasReady) fleet.arrivals.add(queue);
  if (isReady !== wasReady) trackQueue(fleet, queue);
}

/** Refuses an entry. The refusal is kept with the task unless the fleet is full. */
export function refuseTask(fleet: Fleet, id: string, type: string, reason: string): void {
  const record = fleet.tasks.get(id);
  if (record === undefined) return;
  const refused = { at: formatIsoTime(fleet.nowMs), seq: fleet.seq, type, reason };
  const next = fleet.taskStepper.next(record.snapshot, { type: 'entry.refused', refused });
  const growth = growthOfTask(record.snapshot.context, next.context);
  if (exceedsState(fleet, growth)) fleet.outcomes.push({ kind: 'refused', entity: 'task', id, type, reason });
  else moveTask(fleet, id, record, next, 'entry.refused', growth);
}
