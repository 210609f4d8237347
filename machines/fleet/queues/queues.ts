/**
 * Queues. A queue is kept while a known task is in it, or while its depth is among the last reported. Otherwise names
 * would accumulate forever.
 */
import type { NextTask } from '../../guards/attempt.ts';
import { reportedQueuesMax } from '../../values/limits.ts';
import { type Fleet, queueOf } from '../fleet.ts';
import { policyInForce, queueOfWorker } from '../policies.ts';
import { trackQueue } from './attendance.ts';

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

/** Stores the depth of an external queue. Beyond the limit, the least recently reported queue is dropped. */
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

export function isReady(fleet: Fleet, task: string): boolean {
  const queue = fleet.tasks.read(task)?.snapshot.context.queue ?? null;
  return queue !== null && fleet.queues.read(queue)?.ready.has(task) === true;
}

/** Returns the queue that a worker takes tasks from. The worker may still be unknown. */
export function queueFor(fleet: Fleet, worker: string): string {
  const known = fleet.workers.read(worker)?.snapshot;
  const { context } = known ?? fleet.workerStepper.start({ fleet: fleet.name, worker, atMs: fleet.nowMs });
  return queueOfWorker(context.worker, policyInForce(fleet, context.worker));
}
