/**
 * Forgets stopped workers and tasks that no entry has named for long enough (protocol.md §15). Their last entries stay
 * in the log.
 *
 * These deadlines have a separate heap. They need not be prompt, so they never cause a timer entry: they are handled
 * when the log's clock next advances.
 */
import { attemptMessageId } from '../../entries/message-ids.ts';
import { actorKey, type Fleet, type TaskRecord, type WorkerRecord } from '../fleet.ts';
import { changeQueue } from '../queues/queues.ts';
import { sizeOfTask, sizeOfWorker } from '../state-size.ts';
import type { Deadline } from './deadlines.ts';
import type { Forgettable } from './forgettable.ts';

type Kind = Extract<Deadline['kind'], 'forgetWorker' | 'forgetTask'>;

/** Notes whether an actor has stopped, and sets the deadline to forget it. Call it after each step of its machine. */
export function noteStop(fleet: Fleet, kind: Kind, id: string, record: Forgettable, isStopped: boolean): void {
  if (isStopped !== (record.stoppedMs !== null)) record.stoppedMs = isStopped ? fleet.nowMs : null;
  if (isStopped) armForget(fleet, kind, id);
}

const recordOf = (fleet: Fleet, kind: Kind, id: string): WorkerRecord | TaskRecord | undefined =>
  kind === 'forgetWorker' ? fleet.workers.get(id) : fleet.tasks.get(id);

/** Sets the deadline to forget an actor. Call it when the actor may no longer be needed. */
export function armForget(fleet: Fleet, kind: Kind, id: string): void {
  const record = recordOf(fleet, kind, id);
  if (record === undefined || record.isForgetArmed) return;
  const atMs = forgetDueMs(fleet, kind, id, record);
  if (atMs === null) return;
  record.isForgetArmed = true;
  fleet.forgetting.push({ atMs, kind, id, attempt: '' });
}

/** Resets all of these deadlines. Call it when the configured time has changed. */
export function rearmForgetting(fleet: Fleet): void {
  for (;;) {
    const deadline = fleet.forgetting.pop();
    if (deadline === undefined) break;
    const record = recordOf(fleet, deadline.kind as Kind, deadline.id);
    if (record !== undefined) record.isForgetArmed = false;
  }
  for (const id of fleet.workers.keys()) armForget(fleet, 'forgetWorker', id);
  for (const id of fleet.tasks.keys()) armForget(fleet, 'forgetTask', id);
}

/** Returns when the actor may be forgotten; null if it must be kept. */
function forgetDueMs(fleet: Fleet, kind: Kind, id: string, record: WorkerRecord | TaskRecord): number | null {
  const { forgetMs } = fleet.policies;
  if (forgetMs === null || record.stoppedMs === null) return null;
  const isKept = kind === 'forgetTask' ? isNeeded(fleet, id) : holdsTask(record as WorkerRecord);
  return isKept ? null : Math.max(record.namedMs, record.stoppedMs) + forgetMs;
}

/** Tells whether another task waits for this one, or a caller waits for its hooks. */
const isNeeded = ({ dependents, evaluating }: Fleet, task: string): boolean =>
  dependents.has(task) || evaluating.has(task);

const holdsTask = ({ snapshot }: WorkerRecord): boolean => snapshot.context.worker.tasks.length > 0;

/**
 * Returns the next actor to forget, or null. Actors named meanwhile get more time; needed ones wait for `armForget`.
 */
export function nextToForget(fleet: Fleet): Deadline | null {
  for (;;) {
    const next = fleet.forgetting.peek();
    if (next === undefined) return null;
    const kind = next.kind as Kind;
    const record = recordOf(fleet, kind, next.id);
    const dueMs = record === undefined ? null : forgetDueMs(fleet, kind, next.id, record);
    if (dueMs === next.atMs) return next;
    fleet.forgetting.pop();
    if (dueMs !== null) fleet.forgetting.push({ ...next, atMs: dueMs });
    else if (record !== undefined) record.isForgetArmed = false;
  }
}

export function forget(fleet: Fleet, { kind, id }: Deadline): void {
  if (kind === 'forgetWorker') forgetWorker(fleet, id);
  else forgetTask(fleet, id);
}

function forgetWorker(fleet: Fleet, id: string): void {
  const record = fleet.workers.read(id);
  if (record !== undefined) fleet.stateSize -= sizeOfWorker(record);
  for (const scope of record?.snapshot.context.worker.scopes ?? []) leaveScope(fleet, scope, id);
  forgetEscalation(fleet, actorKey('worker', id));
  fleet.workers.delete(id);
}

/** Drops a scope when the last worker that reported it is forgotten. */
function leaveScope({ scopes }: Fleet, scope: string, worker: string): void {
  const workers = scopes.get(scope)?.workers;
  workers?.delete(worker);
  if (workers?.size === 0) scopes.delete(scope);
}

function forgetTask(fleet: Fleet, id: string): void {
  const record = fleet.tasks.read(id);
  if (record !== undefined) {
    fleet.stateSize -= sizeOfTask(record);
    forgetCompletion(fleet, id, record);
  }
  changeQueue(fleet, id, record?.snapshot.context.queue ?? null, null);
  forgetEscalation(fleet, actorKey('task', id));
  fleet.tasks.delete(id);
}

/** The decision that completed the task may never have been stored. */
function forgetCompletion({ unplacedDecisions }: Fleet, id: string, { judged }: Readonly<TaskRecord>): void {
  if (judged === null || judged.seq !== null) return;
  const key = attemptMessageId(judged.worker, judged.attempt);
  const others = (unplacedDecisions.get(key) ?? []).filter((task) => task !== id);
  if (others.length > 0) unplacedDecisions.set(key, others);
  else unplacedDecisions.delete(key);
}

function forgetEscalation({ escalated, neglected, touched }: Fleet, actor: string): void {
  const wasNeglected = neglected.delete(actor);
  if (escalated.delete(actor) || wasNeglected) touched.add(actor);
}
