/**
 * Measures and limits the size of a fleet's workers and tasks (protocol.md §2). Without a limit, any publisher could
 * fill the memory of every replica, and restarting would not help.
 *
 * The size follows from the state alone: a fixed amount for each worker and task, one unit for each UTF-16 unit of
 * their texts, and a fixed amount for each item of a list or object. The tables of fields say which fields count. A
 * string takes one or two bytes per unit, so the size is the heap usage within a factor of two. After a step of a
 * machine only changed fields are measured, and most steps change none.
 */
import { type TaskContext, taskFields } from '../task/context.ts';
import { growthOf, sizesOf } from '../values/fields.ts';
import { type WorkerContext, workerFields } from '../worker/context.ts';
import type { Fleet, TaskRecord, WorkerRecord } from './fleet.ts';

/** The fixed size of a worker or task: 800 bytes of heap when new, 2,300 after some decisions. */
export const actorSize = 1_024;
/** The size of one known attempt: two numbers. */
export const knownAttemptSize = 16;

const workerSizes = sizesOf(workerFields);
const taskSizes = sizesOf(taskFields);

export const describeFull = (max: number): string =>
  `the fleet keeps ${max} units of workers and tasks (protocol.md §2), the maximum: retire workers and cancel tasks that are over, or wait until stopped ones are forgotten`;

/** Tells whether growing by `growth` would exceed the limit. */
export const exceedsState = ({ stateSize, stateSizeMax }: Fleet, growth: number): boolean =>
  growth > 0 && stateSize + growth > stateSizeMax;

/** Tells whether the fleet cannot take another worker or task. */
export const isStateFull = (fleet: Fleet): boolean => exceedsState(fleet, actorSize);

export function sizeOfWorker({ snapshot, known }: WorkerRecord): number {
  const { worker } = snapshot.context;
  return actorSize + (known === null ? 0 : (known.length / 2) * knownAttemptSize) + growthOfWorker(null, worker);
}

export const sizeOfTask = ({ snapshot }: TaskRecord): number => actorSize + growthOfTask(null, snapshot.context);

/** Returns how much larger `after` is than `before`. */
export const growthOfWorker = (before: WorkerContext | null, after: WorkerContext): number =>
  growthOf(workerSizes, before, after);

export const growthOfTask = (before: TaskContext | null, after: TaskContext): number =>
  growthOf(taskSizes, before, after);
