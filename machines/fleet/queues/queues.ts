/**
 * Queues. A queue is kept while a known task is in it, or while its depth is among the last reported. Otherwise names
 * would accumulate forever.
 *
 * A worker attends its queue while it is active and neither stopped nor escalated. People are notified of a queue whose
 * ready tasks no worker could take for too long (`escalation.unattended`, protocol.md §8).
 */
import type { NextTask } from '../../guards/attempt.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import { type Unattended, unnoticed } from '../../values/escalation.ts';
import { reportedQueuesMax } from '../../values/limits.ts';
import { formatIsoTime } from '../../values/time.ts';
import type { WorkerContext } from '../../worker/context.ts';
import { actorKey, type Fleet, type QueueRecord, queueOf, type WorkerRecord } from '../fleet.ts';
import { trackNeglect } from '../owner.ts';
import { policyInForce, queueOfWorker } from '../policies.ts';

/** Moves a task from one queue to another; null is no queue. */
export function changeQueue(fleet: Fleet, task: string, from: string | null, to: string | null): void {
  if (to !== null) queueOf(fleet, to).tasks += 1;
  if (from === null) return;
  const left = queueOf(fleet, from);
  left.tasks -= 1;
  left.ready.delete(task);
  trackQueue(fleet, from);
  dropIfUnused(fleet, from);
  fleet.watcher?.queue(from);
}

/**
 * Stores the depth of an external queue. If there are too many, the least recently reported one is dropped.
 */
export function reportDepth(fleet: Fleet, queue: string, pending: number): void {
  queueOf(fleet, queue).reported = pending;
  fleet.reports.delete(queue);
  fleet.reports.add(queue);
  fleet.arrivals.add(queue);
  fleet.watcher?.queue(queue);
  if (fleet.reports.size <= reportedQueuesMax) return;
  const [oldest] = fleet.reports as Iterable<string> as [string];
  fleet.reports.delete(oldest);
  queueOf(fleet, oldest).reported = 0;
  dropIfUnused(fleet, oldest);
  fleet.watcher?.queue(oldest);
}

function dropIfUnused(fleet: Fleet, queue: string): void {
  if (queueOf(fleet, queue).tasks === 0 && !fleet.reports.has(queue)) fleet.queues.delete(queue);
}

// Attendance: which workers could take tasks from a queue.

/**
 * Updates the queue that the worker attends. Call it when the worker's state, presence or queue may have changed.
 * @param before the context before the step, if nothing else has changed since
 */
export function trackAttendance(fleet: Fleet, record: WorkerRecord, before?: WorkerContext): void {
  const { worker } = record.snapshot.context;
  const queue = !isAlive(record)
    ? null
    : record.attends !== null && before !== undefined && hasSameQueue(before, worker)
      ? record.attends
      : queueNow(fleet, worker);
  const left = record.attends;
  if (queue === left) return;
  record.attends = queue;
  if (queue !== null) count(fleet, queue, 1);
  if (left !== null) count(fleet, left, -1);
}

/** Updates all workers if the current or the previous policies name queues. */
export function trackAllAttendance(fleet: Fleet, before: PolicySet): void {
  if (!namesQueues(before) && !namesQueues(fleet.policies)) return;
  for (const worker of fleet.workers.keys())
    if (fleet.workers.read(worker)?.attends != null) trackAttendance(fleet, fleet.workers.get(worker) as WorkerRecord);
}

const isAlive = ({ snapshot: { value } }: WorkerRecord): boolean =>
  value.presence === 'active' && value.state !== 'stopped' && value.state !== 'escalated';

/** Tells whether all fields that decide a worker's queue are unchanged. */
const hasSameQueue = (a: WorkerContext, b: WorkerContext): boolean =>
  a.queue === b.queue &&
  a.tasks === b.tasks &&
  a.policy === b.policy &&
  a.agent === b.agent &&
  a.labels === b.labels &&
  a.profile === b.profile;

const queueNow = (fleet: Fleet, worker: WorkerContext): string =>
  worker.queue ?? queueOfWorker(worker, policyInForce(fleet, worker));

const namesQueues = ({ policies }: PolicySet): boolean =>
  [...policies.values()].some((policy) => policy.persistence?.queue != null);

function count(fleet: Fleet, queue: string, change: 1 | -1): void {
  const attendants = (fleet.attendants.get(queue) ?? 0) + change;
  if (attendants === 0) fleet.attendants.delete(queue);
  else fleet.attendants.set(queue, attendants);
  trackQueue(fleet, queue);
  if (fleet.queues.has(queue)) fleet.watcher?.queue(queue);
}

/** Updates since when no worker could take the queue's tasks. Call it when a task or worker has come or gone. */
export function trackQueue(fleet: Fleet, name: string): void {
  const known = fleet.queues.read(name);
  if (known === undefined) return;
  const isAlone = known.ready.size > 0 && !fleet.attendants.has(name);
  if (isAlone === (known.aloneMs !== null)) return;
  const queue = fleet.queues.get(name) as QueueRecord;
  queue.aloneMs = isAlone ? fleet.nowMs : null;
  if (isAlone) armUnattended(fleet, name);
  else if (queue.unattended !== null) setUnattended(fleet, name, null);
}

/** Sets the deadline at which people are notified of the queue, if it is unattended. */
export function armUnattended(fleet: Fleet, name: string): void {
  const atMs = unattendedDueMs(fleet, name);
  if (atMs !== null) fleet.deadlines.push({ atMs, kind: 'unattended', id: name, attempt: '' });
}

/** Returns when people are notified of the queue; null if they already were, or if it is attended or empty. */
export function unattendedDueMs({ queues, policies: { unattendedMs } }: Fleet, name: string): number | null {
  const queue = queues.read(name);
  if (unattendedMs === null || queue === undefined || queue.aloneMs === null || queue.unattended !== null) return null;
  return queue.aloneMs + unattendedMs;
}

/** Marks the queue as unattended. Called when the deadline is due. */
export function beginUnattended(fleet: Fleet, name: string): void {
  const aloneMs = fleet.queues.read(name)?.aloneMs ?? fleet.nowMs;
  const at = formatIsoTime(fleet.nowMs);
  setUnattended(fleet, name, { seq: fleet.seq, since: formatIsoTime(aloneMs), at, ...unnoticed });
}

/** @param unattended null once a worker could take the tasks, or none wait */
export function setUnattended(fleet: Fleet, name: string, unattended: Unattended | null): void {
  const queue = fleet.queues.get(name);
  if (queue === undefined) return;
  queue.unattended = unattended;
  trackNeglect(fleet, 'queue', name, unattended !== null);
  fleet.touched.add(actorKey('queue', name));
  fleet.watcher?.queue(name);
}

// The next tasks of a queue, for prompts and for `claim-next` (protocol.md §5).

const namedMax = 3;

/** Returns the first ready tasks: higher priority first, then older. */
export function nextIn(fleet: Fleet, queue: string): readonly NextTask[] {
  const next: NextTask[] = [];
  for (const { task } of fleet.queues.read(queue)?.ready ?? none) {
    next.push({ task, title: fleet.tasks.read(task)?.snapshot.context.title ?? null });
    if (next.length === namedMax) break;
  }
  return next.length === 0 ? none : next;
}

const none: readonly never[] = Object.freeze([]);

/** Returns the first ready task that is not in `except`, or null. */
export function firstReady(fleet: Fleet, queue: string, except: ReadonlySet<string>): string | null {
  for (const { task } of fleet.queues.read(queue)?.ready ?? none) if (!except.has(task)) return task;
  return null;
}

export const isReady = (fleet: Fleet, task: string): boolean => {
  const queue = fleet.tasks.read(task)?.snapshot.context.queue ?? null;
  return queue !== null && fleet.queues.read(queue)?.ready.has(task) === true;
};

/** Returns the queue that a worker takes tasks from. The worker may still be unknown. */
export function queueFor(fleet: Fleet, worker: string): string {
  const known = fleet.workers.read(worker)?.snapshot;
  const { context } = known ?? fleet.workerStepper.start({ fleet: fleet.name, worker, atMs: fleet.nowMs });
  return queueOfWorker(context.worker, policyInForce(fleet, context.worker));
}
