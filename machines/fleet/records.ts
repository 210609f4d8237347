/** What a fleet stores about each worker and task in addition to the state of its machine. */
import type { TaskSnapshot } from '../task/task.ts';
import type { Presence, State } from '../values/states.ts';
import type { WorkerSnapshot } from '../worker/worker.ts';
import type { KnownAttempts } from './known-attempts.ts';

/** When what is stopped may be dropped: see `forgetting.ts`. */
export type Forgettable = {
  /** The last entry that names it; `timer.fired` does not count. */
  namedMs: number;
  /** Null: it is not stopped. */
  stoppedMs: number | null;
  isForgetArmed: boolean;
};

/** A transition of a machine, for people to see. */
export type StateMove = { readonly from: State; readonly to: State; readonly event: string; readonly atMs: number };

export type WorkerRecord = Forgettable & {
  snapshot: WorkerSnapshot;
  /** Its last entry of its own. */
  lastSeenMs: number;
  staleArmed: boolean;
  /** When its open attempt is next evaluated; null: no deadline. */
  wakeMs: number | null;
  owner: string | null;
  accepted: boolean;
  known: KnownAttempts | null;
  /** The last that led anywhere; null: none yet. */
  lastMove: StateMove | null;
  /** What its presence was before; null: it has not changed. */
  presenceFrom: Presence | null;
};

/** Of a worker that is new at `nowMs`. */
export const createRecord = (snapshot: WorkerSnapshot, nowMs: number): WorkerRecord => ({
  snapshot,
  lastSeenMs: nowMs,
  staleArmed: false,
  wakeMs: null,
  owner: null,
  accepted: false,
  known: null,
  lastMove: null,
  presenceFrom: null,
  namedMs: nowMs,
  stoppedMs: null,
  isForgetArmed: false,
});

export type TaskRecord = Forgettable & {
  snapshot: TaskSnapshot;
  lastMove: StateMove | null;
  /** So many of the tasks that it comes after are not completed. */
  openAfter: number;
};
