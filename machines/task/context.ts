/**
 * The context of a task's machine. `taskFields` describes each field once; type, initial context, size and snapshots
 * are derived from it.
 */
import { z } from 'zod';
import type { RefusedEntry } from '../entries/refusal.ts';
import { iterationValidated } from '../entries/task.ts';
import type { Hook, Iteration } from '../guards/task-hooks/hook.ts';
import { hookResults, hookRun, hooks, iteration } from '../guards/task-hooks/hook-shape.ts';
import { type Plan, sizeOfPlan } from '../policy/plan.ts';
import type { TaskEscalation } from '../values/escalation.ts';
import { field, type RecordOf, type ShapeOf, sizeOfJson, startOf } from '../values/fields.ts';
import {
  count,
  jsonText,
  lazy,
  number,
  object,
  period,
  plan,
  refused,
  taskEscalation,
  text,
  textOrNull,
  texts,
  time,
} from '../values/shapes.ts';
import { type Period, unusedPeriod } from '../values/usage.ts';
import type { Evaluation, HookStats, JudgedIteration, SavedCheckpoint } from './records.ts';

export const empty: readonly never[] = Object.freeze([]);

const checkpoints = lazy(() =>
  z.array(
    object({
      checkpoint: text,
      at: text,
      phase: textOrNull,
      step: z.union([text, number]).nullable(),
      context: jsonText,
    } satisfies ShapeOf<SavedCheckpoint>),
  ),
);

const evaluations = lazy(() =>
  z.array(
    object({
      attempt: text,
      seq: count,
      owner: textOrNull,
      iteration,
      fields: iterationValidated,
      results: hookResults,
      pending: object({ number: count, key: text, name: text, deadlineMs: time }),
    } satisfies ShapeOf<Evaluation>),
  ),
);

const validated = lazy(() =>
  z.array(
    object({
      attempt: text,
      result: object({ hookId: text, action: text, reason: text }),
      runs: z.array(hookRun),
    } satisfies ShapeOf<JudgedIteration>),
  ),
);

const hookStats = lazy(() =>
  z.array(
    object({
      hook: text,
      type: text,
      asked: number,
      complete: number,
      continue: number,
      escalate: number,
      skip: number,
      errors: number,
      tookMs: number,
      last: object({ at: text, attempt: textOrNull, action: text, reason: text }),
    } satisfies ShapeOf<HookStats>),
  ),
);

/** Upper bound of the statistics of one hook, with its names and last reason. */
const hookStatsSize = 1_024;

/** For each field: initial value, schema in snapshots, and size. */
export const taskFields = {
  fleet: field<string>('', text),
  task: field<string>('', text),
  title: field<string | null>(null, textOrNull, sizeOfJson),
  /** Null if the task is in no queue; then it is never pending. */
  queue: field<string | null>(null, textOrNull),
  plan: field<Plan | null>(null, plan.nullable(), sizeOfPlan),
  policy: field<string | null>(null, textOrNull),
  after: field<readonly string[]>(empty, texts, sizeOfJson),
  /** Tasks with a higher priority are claimed first. */
  priority: field<number>(0, number),
  worker: field<string | null>(null, textOrNull),
  /** The `claim-next` request that claimed it; null if it was claimed otherwise or is not held. */
  request: field<string | null>(null, textOrNull),
  /** How the task reached `stopped`. */
  outcome: field<'completed' | 'cancelled' | null>(null, z.enum(['completed', 'cancelled']).nullable()),
  hooks: field<readonly Hook[]>(empty, hooks, sizeOfJson),
  /** Includes removed hooks, so that the end of a task can be explained. */
  hookStats: field<readonly HookStats[]>(
    empty,
    hookStats,
    (stats: readonly HookStats[]) => stats.length * hookStatsSize,
  ),
  iteration: field<Iteration | null>(null, iteration.nullable(), sizeOfJson),
  checkpoints: field<readonly SavedCheckpoint[]>(empty, checkpoints, sizeOfJson),
  evaluations: field<readonly Evaluation[]>(empty, evaluations, sizeOfJson),
  /** The iterations judged by the last entry. Several if a change of hooks ended their wait. */
  validated: field<readonly JudgedIteration[]>(empty, validated, sizeOfJson),
  refused: field<readonly RefusedEntry[]>(empty, refused, sizeOfJson),
  escalation: field<TaskEscalation | null>(null, taskEscalation, sizeOfJson),
  /** Usage since the last claim, while it was the task that its worker claimed last. */
  usage: field<Period>(unusedPeriod, period),
};

export type TaskContext = RecordOf<typeof taskFields>;
/** `queue` is null until `task.created` assigns one. */
export type TaskInput = { readonly fleet: string; readonly task: string; readonly queue?: string | null };

const fresh: TaskContext = startOf(taskFields);

export const createTaskContext = ({ fleet, task, queue = null }: TaskInput): TaskContext => ({
  ...fresh,
  fleet,
  task,
  queue,
});
