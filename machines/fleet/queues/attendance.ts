/**
 * Attendance: which workers could take tasks from a queue. A worker attends its queue while it is active and neither
 * stopped nor escalated. People are notified of a queue whose ready tasks no worker could take for too long
 * (`escalation.unattended`, protocol.md §8).
 */
import type { PolicySet } from '../../policy/policy-set.ts';
import { type Unattended, unnoticed } from '../../values/escalation.ts';
import { formatIsoTime } from '../../values/time.ts';
import type { WorkerContext } from '../../worker/context.ts';
import { actorKey, type Fleet, type QueueRecord, type WorkerRecord } from '../fleet.ts';
import { trackNeglect } from '../owner.ts';
import { policyInForce, queueOfWorker } from '../policies.ts';

/**
 * Updates the queue that the worker attends. Call it when the worker's state, presence or queue may have changed.
 * @param before the context before the step, if nothing else has changed since
 */
export function trackAttendance(fleet: Fleet, record: WorkerRecord, before?: WorkerContext): void {
  const queue = attendedQueue(fleet, record, before);
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

/** Returns the queue that the worker attends now, or null. */
function attendedQueue(fleet: Fleet, record: WorkerRecord, before: WorkerContext | undefined): string | null {
  if (!isAttending(record)) return null;
  const { worker } = record.snapshot.context;
  if (record.attends !== null && before !== undefined && hasSameQueue(before, worker)) return record.attends;
  return worker.queue ?? queueOfWorker(worker, policyInForce(fleet, worker));
}

const isAttending = ({ snapshot: { value } }: WorkerRecord): boolean =>
  value.presence === 'active' && value.state !== 'stopped' && value.state !== 'escalated';

/** Tells whether all fields that decide a worker's queue are unchanged. */
const hasSameQueue = (a: WorkerContext, b: WorkerContext): boolean =>
  a.queue === b.queue &&
  a.tasks === b.tasks &&
  a.policy === b.policy &&
  a.agent === b.agent &&
  a.labels === b.labels &&
  a.profile === b.profile;

const namesQueues = ({ policies }: PolicySet): boolean =>
  [...policies.values()].some((policy) => policy.persistence?.queue != null);

function count(fleet: Fleet, queue: string, change: 1 | -1): void {
  const attendants = (fleet.attendants.get(queue) ?? 0) + change;
  if (attendants === 0) fleet.attendants.delete(queue);
  else fleet.attendants.set(queue, attendants);
  trackQueue(fleet, queue);
  if (fleet.queues.has(queue)) fleet.watcher?.queue(queue);
}

/** Updates since when the queue has been unattended. Call it when a task or worker has come or gone. */
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
