/** Evaluations: `iteration.validated` entries, judged by the task's hooks (protocol.md §7; seed 001, hook_evaluate). */
import type { TaskEntry } from '../entries/index.ts';
import type { HookResult } from '../guards/decision.ts';
import type { HookResults, HookRun, Iteration } from '../guards/task-hooks/hook.ts';

/** An `iteration.validated` whose remote hooks have not all answered. */
export type Evaluation = {
  readonly attempt: string;
  readonly seq: number;
  /** The replica that calls the hook, if there is one. */
  readonly owner: string | null;
  /** As it was: the loop may go on meanwhile. */
  readonly iteration: Iteration;
  readonly fields: Extract<TaskEntry, { type: 'iteration.validated' }>['data'];
  readonly results: HookResults;
  /** The hook that it waits for. `number`: which one of this evaluation, 1-based. */
  readonly pending: {
    readonly number: number;
    readonly key: string;
    readonly name: string;
    readonly deadlineMs: number;
  };
};

/** How an iteration was judged, and the result of each hook. `attempt` is the entry's own, or `seq-<seq>`. */
export type Judged = { readonly attempt: string; readonly result: HookResult; readonly runs: readonly HookRun[] };
