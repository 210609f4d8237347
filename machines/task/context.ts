/** What is known of a task: the context of its machine. */
import type { RefusedEntry } from '../entries/refusal.ts';
import type { Hook, Iteration } from '../guards/task-hooks/hook.ts';
import type { Plan } from '../policy/plan.ts';
import type { TaskEscalation } from '../values/escalation.ts';
import { type Period, unusedPeriod } from '../values/usage.ts';
import type { SavedCheckpoint } from './checkpoint.ts';
import type { Evaluation, Judged } from './evaluation.ts';
import type { HookStats } from './hook-stats.ts';

export type TaskContext = {
  readonly fleet: string;
  readonly task: string;
  readonly title: string | null;
  /** Null: in no queue, so never pending. */
  readonly queue: string | null;
  readonly plan: Plan | null;
  readonly policy: string | null;
  readonly after: readonly string[];
  readonly worker: string | null;
  /** How it reached `stopped`. */
  readonly outcome: 'completed' | 'cancelled' | null;
  readonly hooks: readonly Hook[];
  /** Of hooks that are gone too, so that the end of a task can be explained. */
  readonly hookStats: readonly HookStats[];
  readonly iteration: Iteration | null;
  readonly checkpoints: readonly SavedCheckpoint[];
  readonly evaluations: readonly Evaluation[];
  /** The iterations that the last entry judged; several if a change of hooks ended their wait. */
  readonly validated: readonly Judged[];
  readonly refused: readonly RefusedEntry[];
  readonly escalation: TaskEscalation | null;
  /** Used while it was the task that its worker claimed last; since the last claim. */
  readonly usage: Period;
};
/** `queue` null: in none, until `task.created` gives one. */
export type TaskInput = { readonly fleet: string; readonly task: string; readonly queue?: string | null };

export const empty: readonly never[] = Object.freeze([]);

export const createTaskContext = ({ fleet, task, queue = null }: TaskInput): TaskContext => ({
  fleet,
  task,
  title: null,
  queue,
  plan: null,
  policy: null,
  after: empty,
  worker: null,
  outcome: null,
  hooks: empty,
  hookStats: empty,
  iteration: null,
  checkpoints: empty,
  evaluations: empty,
  validated: empty,
  refused: empty,
  escalation: null,
  usage: unusedPeriod,
});
