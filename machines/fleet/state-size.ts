/**
 * Measures how much a fleet keeps of its workers and tasks, and how much it may (protocol.md §2). Without a bound,
 * whoever may publish fills the memory of every replica, and of every start after it.
 *
 * The size follows from the state alone: a fixed part for each worker and task, one for each UTF-16 unit of the texts
 * that they keep, and a fixed one for each value of a list or object. The tables of their fields say which count. A string takes one or two bytes a unit, so that is
 * the heap within a factor of two. A step of a machine is compared field by field, and only what has changed is
 * measured: most steps measure nothing.
 */
import { type TaskContext, taskFields } from '../task/context.ts';
import { growthOf, sizesOf } from '../values/fields.ts';
import { type WorkerContext, workerFields } from '../worker/context.ts';
import type { Fleet, TaskRecord, WorkerRecord } from './fleet.ts';

/** A worker or task without texts: 800 bytes of heap, and after some decisions 2,300. */
const actorSize = 1_024;
/** The size of one attempt that is recognised: two numbers. */
export const knownAttemptSize = 16;

const workerSizes = sizesOf(workerFields);
const taskSizes = sizesOf(taskFields);

export const describeFull = (max: number): string =>
  `the fleet keeps ${max} units of workers and tasks (protocol.md §2), the most there may be: retire workers and cancel tasks that are over, or wait until stopped ones are forgotten`;

/** Tells whether `growth` is more than the fleet may still take. */
export const exceedsState = ({ stateSize, stateSizeMax }: Fleet, growth: number): boolean =>
  growth > 0 && stateSize + growth > stateSizeMax;

/** Tells whether it takes no other worker or task. */
export const isStateFull = (fleet: Fleet): boolean => exceedsState(fleet, actorSize);

export const newActorSize = actorSize;

export function sizeOfWorker({ snapshot, known }: WorkerRecord): number {
  const { worker } = snapshot.context;
  return actorSize + (known === null ? 0 : (known.length / 2) * knownAttemptSize) + growthOfWorker(null, worker);
}

export const sizeOfTask = ({ snapshot }: TaskRecord): number => actorSize + growthOfTask(null, snapshot.context);

/** Returns how much more the second keeps than the first. */
export const growthOfWorker = (before: WorkerContext | null, after: WorkerContext): number =>
  growthOf(workerSizes, before, after);

export const growthOfTask = (before: TaskContext | null, after: TaskContext): number =>
  growthOf(taskSizes, before, after);
