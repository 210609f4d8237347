/**
 * Queues: a queue is known while a known task names it, or its depth was among the last to be reported. Otherwise every
 * name would be kept for ever.
 */
import { reportedQueuesMax } from '../values/limits.ts';
import { type Fleet, queueOf } from './fleet.ts';

/** Moves a task to its queue, or to another one: `from` until now, `to` from now on. */
export function changeQueue(fleet: Fleet, task: string, from: string | null, to: string | null): void {
  if (to !== null) queueOf(fleet, to).tasks += 1;
  if (from === null) return;
  const left = queueOf(fleet, from);
  left.tasks -= 1;
  left.ready.delete(task);
  dropIfUnused(fleet, from);
  fleet.watcher?.queue(from);
}

/**
 * Stores the depth of a queue that is kept elsewhere. The queue that was not reported for the longest time makes room.
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
