/** Defines what a fleet stores about each worker and task in addition to the state of its machine. */
import type { TaskSnapshot } from '../task/task.ts';
import type { Presence, State } from '../values/states.ts';
import type { WorkerSnapshot } from '../worker/worker.ts';
import type { KnownAttempts } from './known-attempts.ts';

/** When what is stopped may be dropped: see `forgetting.ts`. */
export type Forgettable = {
  /** Time of the last entry that names it; `timer.fired` does not count. */
  namedMs: number;
  /** The time at which it stopped; null: it has not. */
  stoppedMs: number | null;
  isForgetArmed: boolean;
};

/** A transition of a machine, for people to see. */
export type StateMove = { readonly from: State; readonly to: State; readonly event: string; readonly atMs: number };

export type WorkerRecord = Forgettable & {
  snapshot: WorkerSnapshot;
  /** Time of the last entry that the worker itself published. */
  lastSeenMs: number;
  /** Tells whether a deadline is set at which its staleness is checked. */
  staleArmed: boolean;
  /** When its open attempt is next evaluated; null: no deadline. */
  wakeMs: number | null;
  owner: string | null;
  accepted: boolean;
  /** The queue that it counts for while it is alive (`queues.ts`); null: it is not. */
  attends: string | null;
  known: KnownAttempts | null;
  /** The last transition that changed its state; null: none yet. */
  lastMove: StateMove | null;
  /** The presence before the last change; null: it has not changed. */
  presenceFrom: Presence | null;
  /** When its usage limit ended and left it stale at once; null: it is not stale, or by its silence alone. */
  limitEndedMs: number | null;
};

/** Makes the record of a worker that is new at `nowMs`. */
export const createRecord = (snapshot: WorkerSnapshot, nowMs: number): WorkerRecord => ({
  snapshot,
  lastSeenMs: nowMs,
  staleArmed: false,
  wakeMs: null,
  owner: null,
  accepted: false,
  attends: null,
  known: null,
  lastMove: null,
  presenceFrom: null,
  limitEndedMs: null,
  namedMs: nowMs,
  stoppedMs: null,
  isForgetArmed: false,
});

export type TaskRecord = Forgettable & {
  snapshot: TaskSnapshot;
  lastMove: StateMove | null;
  /** The attempt that completed it, and where its decision stands in the log, if that is stored by now. */
  judged: { readonly worker: string; readonly attempt: string; readonly seq: number | null } | null;
  /** The entry that created it: the older goes first. */
  readonly createdSeq: number;
  /** The number of tasks in its `after` that are not completed. */
  openAfter: number;
};

/** A claim by a request that its worker has let go of, at `atMs`. */
export type PastClaim = { readonly task: string; readonly atMs: number };
