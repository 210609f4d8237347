/** Steps the machines of workers, and applies the consequences to tasks, deadlines, outcomes and presence. */
import type { OwnWorkerEntry, WorkerEntry } from '../entries/index.ts';
import { attemptMessageId } from '../entries/message-ids.ts';
import type { Decision } from '../guards/decision.ts';
import { checkpointOfHooks } from '../guards/task-hooks/evaluate.ts';
import { stepsOf } from '../policy/plan.ts';
import type { TaskEvent } from '../task/events.ts';
import { formatIsoTime } from '../values/time.ts';
import type { WorkerContext } from '../worker/context.ts';
import { escalationOf } from '../worker/decide.ts';
import type { Surroundings, WorkerEvent } from '../worker/events.ts';
import { actorKey, type Fleet, moveOf, positionOf, type TaskRecord, type WorkerRecord } from './fleet.ts';
import { trackEscalation, trackNeglect } from './owner.ts';
import { presenceAt, staleAfterMs } from './presence.ts';
import { trackAttendance } from './queues/attendance.ts';
import { createRecord } from './records.ts';
import { actorSize, describeFull, exceedsState, growthOfTask, growthOfWorker } from './state-size.ts';
import { stepTask } from './tasks.ts';
import { armStaleDeadlines, armWaiting } from './time/due-time.ts';
import { noteStop } from './time/forgetting.ts';

/** Returns the worker's record. An unknown worker is registered at the time of the current entry. */
export function workerOf(fleet: Fleet, worker: string): WorkerRecord {
  const known = fleet.workers.get(worker);
  if (known !== undefined) return known;
  const snapshot = fleet.workerStepper.start({ fleet: fleet.name, worker, atMs: fleet.nowMs });
  const record = createRecord(snapshot, { lastSeenMs: fleet.nowMs, namedMs: fleet.nowMs });
  fleet.workers.set(worker, record);
  fleet.stateSize += actorSize;
  fleet.watcher?.worker(worker, 'idle', 'idle', 'worker.registered');
  return record;
}

/** Steps the machine, then applies the consequences to tasks, deadlines and outcomes. */
export function stepWorker(fleet: Fleet, record: WorkerRecord, event: WorkerEvent): void {
  moveWorker(fleet, record, fleet.workerStepper.next(record.snapshot, event), event.type);
}

/**
 * Steps the machine with an agent's entry, or refuses the entry if the fleet would exceed its size limit.
 * @returns whether the entry took effect
 */
export function stepWithin(fleet: Fleet, record: WorkerRecord, event: WorkerEvent): boolean {
  const next = fleet.workerStepper.next(record.snapshot, event);
  const growth = growthOfWorker(record.snapshot.context.worker, next.context.worker);
  if (exceedsState(fleet, growth)) {
    refuseWorker(fleet, record, event.type, describeFull(fleet.stateSizeMax));
    return false;
  }
  moveWorker(fleet, record, next, event.type, growth);
  return true;
}

/** Applies a step that the caller has computed. `growth`: how much larger the worker is after it. */
export function moveWorker(
  fleet: Fleet,
  record: WorkerRecord,
  next: WorkerRecord['snapshot'],
  event: string,
  growth = growthOfWorker(record.snapshot.context.worker, next.context.worker),
): void {
  const { value, context } = record.snapshot;
  const before = context.worker;
  fleet.stateSize += growth;
  record.snapshot = next;
  const after = record.snapshot.context.worker;
  fleet.watcher?.worker(after.worker, value.state, record.snapshot.value.state, event);
  // A decision may lead back to the state before the attempt, and still counts as a move.
  if (record.snapshot.value.state !== value.state || after.lastDecision !== before.lastDecision)
    record.lastMove = moveOf(fleet, value.state, record.snapshot.value.state, event);
  noteStop(fleet, 'forgetWorker', after.worker, record, record.snapshot.value.state === 'stopped');
  if (after.lastDecision !== before.lastDecision) propagateDecision(fleet, before, after);
  if (after.escalation !== before.escalation)
    trackEscalation(fleet, 'worker', after.worker, after.escalation !== null, record.owner);
  if (after.attempt !== null || before.attempt !== null) trackAttempt(fleet, record, before, after);
  if (after.inputs !== before.inputs) trackInputs(fleet, before, after);
  // Requests of a stopped worker need no answer.
  else if (record.snapshot.value.state !== value.state && fleet.neglected.has(actorKey('worker', after.worker)))
    fleet.touched.add(actorKey('worker', after.worker));
  trackAttendance(fleet, record, before);
  if (after.tasks === before.tasks) return;
  returnPlans(fleet, before, after);
  // The held tasks decide which policy applies.
  armStaleDeadlines(fleet, after.worker);
}

/** Updates the deadline of requests that wait for a person, and the index of workers with overdue ones. */
function trackInputs(fleet: Fleet, before: WorkerContext, after: WorkerContext): void {
  fleet.touched.add(actorKey('worker', after.worker));
  trackNeglect(
    fleet,
    'worker',
    after.worker,
    after.inputs.some((request) => request.overdue !== undefined),
  );
  armWaiting(fleet, before, after);
}

/** Moves the steps of released tasks from the worker's plan back to the tasks, for the next worker. */
function returnPlans(fleet: Fleet, before: WorkerContext, after: WorkerContext): void {
  for (const task of before.tasks) {
    if (after.tasks.includes(task)) continue;
    const steps = stepsOf(before.plan, task);
    stepTask(fleet, task, { type: 'steps.returned', steps, ...positionOf(fleet) });
  }
}

/** Turns a worker's entry into an event of its machine. */
export const eventOf = (fleet: Fleet, { type, data }: WorkerEntry | OwnWorkerEntry, facts?: Surroundings) =>
  ({ type, data, seq: fleet.seq, atMs: fleet.nowMs, facts }) as WorkerEvent;

function propagateDecision(fleet: Fleet, before: WorkerContext, after: WorkerContext): void {
  const decision = after.lastDecision as NonNullable<WorkerContext['lastDecision']>;
  fleet.outcomes.push({ kind: 'decided', decision, openedMs: before.attempt?.atMs ?? fleet.nowMs });
  if (after.lastDisposition === 'completed' && before.tasks.length > 0) noteCompletion(fleet, before.tasks, decision);
  for (const [task, event] of taskEventsOf(fleet, before, after)) {
    stepTask(fleet, task, event);
    if (event.type === 'hooks.evaluated') fleet.outcomes.push({ kind: 'hooksEvaluated', task, runs: event.runs });
  }
}

/** Returns the events that a decision causes for the tasks that the worker holds, in order. */
function taskEventsOf(
  fleet: Fleet,
  before: WorkerContext,
  after: WorkerContext,
): readonly (readonly [task: string, event: TaskEvent])[] {
  const decision = after.lastDecision as Decision;
  const { attempt } = decision;
  const events: [string, TaskEvent][] = [];
  for (const { task, runs, checkpoint } of after.lastJudgedTasks) {
    if (runs.length > 0) events.push([task, { type: 'hooks.evaluated', runs, attempt, ...positionOf(fleet) }]);
    if (checkpoint === null) continue;
    const data = checkpointOfHooks(attempt ?? '', checkpoint.data);
    events.push([task, { type: 'checkpoint.saved', data, ...positionOf(fleet) }]);
  }
  const disposition = after.lastDisposition;
  const escalation =
    disposition === 'escalated' ? { ...escalationOf(decision), withWorker: decision.action === 'escalate' } : null;
  for (const task of before.tasks) {
    // The attempt was decided in the step that opened it, so the task has not seen it open.
    if (before.attempt === null) events.push([task, { type: 'attempt.opened', ...positionOf(fleet) }]);
    events.push([task, { type: 'attempt.closed', ...positionOf(fleet), disposition, escalation }]);
  }
  return events;
}

/**
 * Returns how much the held tasks grow by the decision that this step of the worker makes. Only escalations, results of
 * hooks and checkpoints make tasks larger.
 */
export function growthOfHeldTasks(fleet: Fleet, before: WorkerContext, after: WorkerContext): number {
  const isDecided = after.lastDecision !== null && after.lastDecision !== before.lastDecision;
  if (!isDecided || (after.lastDisposition !== 'escalated' && after.lastJudgedTasks.length === 0)) return 0;
  const stepped = new Map<string, TaskRecord['snapshot']>();
  for (const [task, event] of taskEventsOf(fleet, before, after)) {
    const from = stepped.get(task) ?? fleet.tasks.read(task)?.snapshot;
    if (from !== undefined) stepped.set(task, fleet.taskStepper.next(from, event));
  }
  let growth = 0;
  for (const [task, { context }] of stepped)
    growth += growthOfTask(fleet.tasks.read(task)?.snapshot.context ?? null, context);
  return growth;
}

/** Records which decision completed these tasks. `noteDecision` adds its sequence number when its entry arrives. */
function noteCompletion(fleet: Fleet, tasks: readonly string[], decision: Decision): void {
  const { worker } = decision;
  const attempt = decision.attempt ?? '';
  fleet.unplacedDecisions.set(attemptMessageId(worker, attempt), tasks);
  for (const task of tasks) {
    const record = fleet.tasks.get(task);
    if (record !== undefined) record.judged = { worker, attempt, seq: null };
  }
}

/** Updates the indexes of open and held attempts, and the deadline at which this one is evaluated again. */
function trackAttempt(fleet: Fleet, record: WorkerRecord, before: WorkerContext, after: WorkerContext): void {
  const { attempt, worker } = after;
  if (attempt?.pending !== before.attempt?.pending) fleet.touched.add(actorKey('worker', worker));
  if (attempt === null) {
    record.wakeMs = null;
    fleet.open.delete(worker);
    fleet.held.delete(worker);
    armStaleDeadlines(fleet, worker);
    return;
  }
  if (before.attempt === null)
    for (const task of after.tasks) stepTask(fleet, task, { type: 'attempt.opened', ...positionOf(fleet) });
  fleet.open.add(worker);
  if (attempt.isHeld) fleet.held.add(worker);
  else fleet.held.delete(worker);
  const wakeMs = attempt.pending?.deadlineMs ?? holdEndMs(after);
  if (wakeMs !== record.wakeMs || before.attempt?.attempt !== attempt.attempt) {
    record.wakeMs = wakeMs;
    fleet.deadlines.push({ atMs: wakeMs, kind: 'attempt', id: worker, attempt: attempt.attempt });
  }
  const { pending } = attempt;
  const known = before.attempt?.attempt === attempt.attempt ? before.attempt.pending : null;
  if (pending !== null && pending.number !== known?.number) {
    fleet.outcomes.push({ kind: 'checkAwaited', worker, attempt: attempt.attempt, check: pending });
  }
}

/** A hold ends at its own deadline or with the idle timeout, whichever comes first. */
function holdEndMs({ attempt, tasks, activeMs }: WorkerContext): number {
  if (attempt === null) return 0;
  const { holdUntilMs, idleLimitMs } = attempt;
  return tasks.length > 0 || idleLimitMs === null ? holdUntilMs : Math.min(holdUntilMs, activeMs + idleLimitMs);
}

/** Refuses an entry. The refusal is kept with the worker unless the fleet is full. */
export function refuseWorker(fleet: Fleet, record: WorkerRecord, type: string, reason: string): void {
  const refused = { at: formatIsoTime(fleet.nowMs), seq: fleet.seq, type, reason };
  const next = fleet.workerStepper.next(record.snapshot, { type: 'entry.refused', refused });
  const growth = growthOfWorker(record.snapshot.context.worker, next.context.worker);
  if (!exceedsState(fleet, growth)) moveWorker(fleet, record, next, 'entry.refused', growth);
  fleet.outcomes.push({ kind: 'refused', entity: 'worker', id: record.snapshot.context.worker.worker, type, reason });
}

/** Updates the presence in the worker's machine to the current one (protocol.md §3). */
export function refreshPresence(fleet: Fleet, record: WorkerRecord): void {
  const presence = presenceAt(fleet, record, fleet.nowMs);
  const { presence: before } = record.snapshot.value;
  if (before === presence) return;
  record.presenceFrom = before;
  record.limitEndedMs = before === 'limited' && presence === 'stale' ? fleet.nowMs : null;
  stepWorker(fleet, record, { type: 'presence.changed', presence });
}

/** Returns the worker of an entry that the worker did not publish. An unknown worker is registered as stale. */
export function absentWorkerOf(fleet: Fleet, worker: string): WorkerRecord {
  const known = fleet.workers.get(worker);
  if (known !== undefined) return known;
  const record = workerOf(fleet, worker);
  record.lastSeenMs = fleet.nowMs - staleAfterMs;
  refreshPresence(fleet, record);
  return record;
}

/** Applies a usage limit of one worker, or of all workers that reported a scope. */
export function changeLimit(
  fleet: Fleet,
  record: WorkerRecord,
  entry: Extract<WorkerEntry, { type: 'limit.reached' | 'limit.cleared' }>,
): void {
  const limit = entry.type === 'limit.reached' ? { untilMs: entry.data.until ?? null } : null;
  const { scope } = entry.data;
  if (scope !== undefined) {
    const known = fleet.scopes.get(scope) ?? { limit: null, workers: new Set<string>() };
    if (limit !== null) known.workers.add(entry.id);
    known.limit = limit;
    // Clearing a scope that no worker reported leaves nothing behind.
    if (known.workers.size > 0) fleet.scopes.set(scope, known);
  }
  if (limit?.untilMs != null && limit.untilMs > fleet.nowMs) {
    fleet.deadlines.push({ atMs: limit.untilMs, kind: 'limit', id: entry.id, attempt: scope ?? '' });
  }
  refreshPresence(fleet, record);
  for (const worker of scope === undefined ? [] : (fleet.scopes.get(scope)?.workers ?? [])) {
    const other = fleet.workers.get(worker);
    if (other === undefined) continue;
    refreshPresence(fleet, other);
    armStaleDeadlines(fleet, worker);
  }
}
