/** The data that a fleet stores about each worker and task besides the snapshot of its machine. */
import { z } from 'zod';
import type { TaskSnapshot } from '../task/task.ts';
import { field, startOf } from '../values/fields.ts';
import { count, flag, lazy, number, object, text, textOrNull, time, timeOrNull } from '../values/shapes.ts';
import { type Presence, presences, type State, workerStates } from '../values/states.ts';
import type { WorkerSnapshot } from '../worker/worker.ts';
import type { KnownAttempts } from './known-attempts.ts';
import { forgettableFields } from './time/forgettable.ts';

/** A transition of a machine, for people to see. */
export type StateMove = { readonly from: State; readonly to: State; readonly event: string; readonly atMs: number };

const stateMove = lazy(() =>
  object({ from: z.enum(workerStates), to: z.enum(workerStates), event: text, atMs: time }).nullable(),
);

/** For each field: initial value and schema in snapshots. */
export const workerRecordFields = {
  /** Time of the last entry that the worker itself published. */
  lastSeenMs: field<number>(0, time),
  /** Whether a deadline is set at which its staleness is checked. */
  staleArmed: field<boolean>(false, flag),
  /** When its open attempt is next evaluated; null if it has no open attempt. */
  wakeMs: field<number | null>(null, timeOrNull),
  owner: field<string | null>(null, textOrNull),
  accepted: field<boolean>(false, flag),
  /** The queue that it attends while it is active (`queues/attendance.ts`); null otherwise. */
  attends: field<string | null>(null, textOrNull),
  known: field<KnownAttempts | null>(null, z.array(count).nullable()),
  /** The last transition that changed its state; null before the first. */
  lastMove: field<StateMove | null>(null, stateMove),
  /** The presence before the last change; null before the first. */
  presenceFrom: field<Presence | null>(null, z.enum(presences).nullable()),
  /** When the end of its usage limit made it stale; null if it is not stale, or stale because of its silence alone. */
  limitEndedMs: field<number | null>(null, timeOrNull),
  ...forgettableFields,
};

export const taskRecordFields = {
  lastMove: field<StateMove | null>(null, stateMove),
  /** The attempt that completed it, and the sequence number of the decision, or null before that is stored. */
  judged: field<{ readonly worker: string; readonly attempt: string; readonly seq: number | null } | null>(
    null,
    object({ worker: text, attempt: text, seq: number.nullable() }).nullable(),
  ),
  /** Sequence number of the entry that created it. Among tasks of equal priority, older ones are claimed first. */
  createdSeq: field<number>(0, count),
  createdMs: field<number>(0, time),
  /** The number of tasks in its `after` that are not completed. */
  openAfter: field<number>(0, count),
  ...forgettableFields,
};

/** Unlike the context of a machine, a record is changed in place. */
type Mutable<Table extends Record<string, { readonly start: unknown }>> = {
  -readonly [Name in keyof Table]: Table[Name]['start'];
};

export type WorkerRecord = { snapshot: WorkerSnapshot } & Mutable<typeof workerRecordFields>;
export type TaskRecord = { snapshot: TaskSnapshot } & Mutable<typeof taskRecordFields>;

// Copying these objects gives all records the same hidden class, whichever fields are set later.
const freshWorker = { snapshot: null, ...startOf(workerRecordFields) };
const freshTask = { snapshot: null, ...startOf(taskRecordFields) };

/** Creates a worker's record. Fields that are not given have their initial values. */
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

/** A claim by a `claim-next` request whose worker released the task at `atMs`. */
export type PastClaim = { readonly task: string; readonly atMs: number };
