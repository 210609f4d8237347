/** The next tasks of a queue: what a worker is informed of, and what `claim-next` claims (protocol.md §5). */
import type { NextTask } from '../../guards/attempt.ts';
import type { Fleet } from '../fleet.ts';
import { policyInForce, queueOfWorker } from '../policies.ts';

const namedMax = 3;

/** The first tasks that wait there, a higher priority first, then the older. */
export function nextIn(fleet: Fleet, queue: string): readonly NextTask[] {
  const next: NextTask[] = [];
  for (const { task } of fleet.queues.read(queue)?.ready ?? none) {
    next.push({ task, title: fleet.tasks.read(task)?.snapshot.context.title ?? null });
    if (next.length === namedMax) break;
  }
  return next.length === 0 ? none : next;
}

const none: readonly never[] = Object.freeze([]);

/** The first task that waits there and is not excepted; null: there is none. */
export function firstReady(fleet: Fleet, queue: string, except: ReadonlySet<string>): string | null {
  for (const { task } of fleet.queues.read(queue)?.ready ?? none) if (!except.has(task)) return task;
  return null;
}

export const isReady = (fleet: Fleet, task: string): boolean => {
  const queue = fleet.tasks.read(task)?.snapshot.context.queue ?? null;
  return queue !== null && fleet.queues.read(queue)?.ready.has(task) === true;
};

/** The queue that a worker takes tasks from, also of one that is still unknown. */
export function queueFor(fleet: Fleet, worker: string): string {
  const known = fleet.workers.read(worker)?.snapshot;
  const { context } = known ?? fleet.workerStepper.start({ fleet: fleet.name, worker, atMs: fleet.nowMs });
  return queueOfWorker(context.worker, policyInForce(fleet, context.worker));
}

/** The task that the worker holds by this request; null: none. */
export function claimedBy(fleet: Fleet, worker: string, request: string): string | null {
  const held = fleet.workers.read(worker)?.snapshot.context.worker.tasks ?? none;
  return held.find((task) => fleet.tasks.read(task)?.snapshot.context.request === request) ?? null;
}
