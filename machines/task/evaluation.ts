/** Evaluations: `iteration.validated` entries that wait for a remote hook (protocol.md §7). */
import type { TaskEntry } from '../entries/index.ts';
import type { HookResults, Iteration } from '../guards/task-hooks/hook.ts';

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

export const addEvaluation = (open: readonly Evaluation[], evaluation: Evaluation): readonly Evaluation[] => [
  ...removeEvaluation(open, evaluation.attempt),
  evaluation,
];

export const removeEvaluation = (open: readonly Evaluation[], attempt: string): readonly Evaluation[] =>
  open.filter((it) => it.attempt !== attempt);
