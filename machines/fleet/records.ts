/** Defines what a fleet stores about each worker and task in addition to the state of its machine. */
import { z } from 'zod';
import type { TaskSnapshot } from '../task/task.ts';
import { field, startOf } from '../values/fields.ts';
import { count, flag, lazy, number, object, text, textOrNull, time, timeOrNull } from '../values/shapes.ts';
import { type Presence, presences, type State, workerStates } from '../values/states.ts';
import type { WorkerSnapshot } from '../worker/worker.ts';
import type { KnownAttempts } from './known-attempts.ts';

/** A transition of a machine, for people to see. */
export type StateMove = { readonly from: State; readonly to: State; readonly event: string; readonly atMs: number };

const stateMove = lazy(() =>
  object({ from: z.enum(workerStates), to: z.enum(workerStates), event: text, atMs: time }).nullable(),
);

/** When what is stopped may be dropped: see `forgetting.ts`. */
const forgettableFields = {
  /** Time of the last entry that names it; `timer.fired` does not count. */
  namedMs: field<number>(0, time),
  /** The time at which it stopped; null: it has not. */
  stoppedMs: field<number | null>(null, timeOrNull),
  isForgetArmed: field<boolean>(false, flag),
};

/** A row for each field: how it begins, and what a snapshot may hold of it. */
export const workerRecordFields = {
  /** Time of the last entry that the worker itself published. */
  lastSeenMs: field<number>(0, time),
  /** Tells whether a deadline is set at which its staleness is checked. */
  staleArmed: field<boolean>(false, flag),
  /** When its open attempt is next evaluated; null: no deadline. */
  wakeMs: field<number | null>(null, timeOrNull),
  owner: field<string | null>(null, textOrNull),
  accepted: field<boolean>(false, flag),
  /** The queue that it counts for while it is alive (`queues.ts`); null: it is not. */
  attends: field<string | null>(null, textOrNull),
  known: field<KnownAttempts | null>(null, z.array(count).nullable()),
  /** The last transition that changed its state; null: none yet. */
  lastMove: field<StateMove | null>(null, stateMove),
  /** The presence before the last change; null: it has not changed. */
  presenceFrom: field<Presence | null>(null, z.enum(presences).nullable()),
  /** When its usage limit ended and left it stale at once; null: it is not stale, or by its silence alone. */
  limitEndedMs: field<number | null>(null, timeOrNull),
  ...forgettableFields,
};

export const taskRecordFields = {
  lastMove: field<StateMove | null>(null, stateMove),
  /** The attempt that completed it, and where its decision stands in the log, if that is stored by now. */
  judged: field<{ readonly worker: string; readonly attempt: string; readonly seq: number | null } | null>(
    null,
    object({ worker: text, attempt: text, seq: number.nullable() }).nullable(),
  ),
  /** The entry that created it: the older goes first. */
  createdSeq: field<number>(0, count),
  /** The number of tasks in its `after` that are not completed. */
  openAfter: field<number>(0, count),
  ...forgettableFields,
};

/** Unlike the context of a machine, a record is changed in place. */
type Mutable<Table extends Record<string, { readonly start: unknown }>> = {
  -readonly [Name in keyof Table]: Table[Name]['start'];
};

export type Forgettable = Mutable<typeof forgettableFields>;
export type WorkerRecord = { snapshot: WorkerSnapshot } & Mutable<typeof workerRecordFields>;
export type TaskRecord = { snapshot: TaskSnapshot } & Mutable<typeof taskRecordFields>;

// A copy of an object that adds no field has one hidden class, whichever fields are set after it.
const freshWorker = { snapshot: null, ...startOf(workerRecordFields) };
const freshTask = { snapshot: null, ...startOf(taskRecordFields) };

/** Makes the record of a worker with these fields; the others are as they begin. */
export function createRecord(snapshot: WorkerSnapshot, fields: Partial<Omit<WorkerRecord, 'snapshot'>>): WorkerRecord {
  const record: { snapshot: WorkerSnapshot | null } = { ...freshWorker };
  record.snapshot = snapshot;
  return Object.assign(record as WorkerRecord, fields);
}

export function createTaskRecord(snapshot: TaskSnapshot, fields: Partial<Omit<TaskRecord, 'snapshot'>>): TaskRecord {
  const record: { snapshot: TaskSnapshot | null } = { ...freshTask };
  record.snapshot = snapshot;
  return Object.assign(record as TaskRecord, fields);
}

/** A claim by a request that its worker has let go of, at `atMs`. */
export type PastClaim = { readonly task: string; readonly atMs: number };
