/** The context of a task's machine: everything that is known of the task. */
import { z } from 'zod';
import type { EventOf, OwnTaskEntry, TaskEntry, WorkerEntry } from '../entries/index.ts';
import type { RefusedEntry } from '../entries/refusal.ts';
import { type HookForm, iterationValidated, membersWithin } from '../entries/task.ts';
import type { Hook, HookRun, Iteration } from '../guards/task-hooks/hook.ts';
import { hookResults, hookRun, hooks, iteration } from '../guards/task-hooks/hook-shape.ts';
import { type Plan, sizeOfPlan } from '../policy/plan.ts';
import type { TaskEscalation } from '../values/escalation.ts';
import { field, type RecordOf, type ShapeOf, sizeOfJson, startOf } from '../values/fields.ts';
import { attemptIdFault } from '../values/id.ts';
import { hookMembersMax, hooksMax } from '../values/limits.ts';
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
import type { TaskDisposition } from '../values/states.ts';
import { type Period, unusedPeriod } from '../values/usage.ts';
import type { Evaluation, HookStats, Judged, SavedCheckpoint } from './records.ts';

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
    } satisfies ShapeOf<Judged>),
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

/** At most, of the statistics of one hook: its names and its last reason. */
const hookStatsSize = 1_024;

/** A row for each field: how it begins, what a snapshot may hold of it, and its size. */
export const taskFields = {
  fleet: field<string>('', text),
  task: field<string>('', text),
  title: field<string | null>(null, textOrNull, sizeOfJson),
  /** It is null if the task is in no queue, and so is never pending. */
  queue: field<string | null>(null, textOrNull),
  plan: field<Plan | null>(null, plan.nullable(), sizeOfPlan),
  policy: field<string | null>(null, textOrNull),
  after: field<readonly string[]>(empty, texts, sizeOfJson),
  /** Higher first. */
  priority: field<number>(0, number),
  worker: field<string | null>(null, textOrNull),
  /** The request `claim-next` by which its worker got it; null: by none, or it is not held. */
  request: field<string | null>(null, textOrNull),
  /** The way in which it reached `stopped`. */
  outcome: field<'completed' | 'cancelled' | null>(null, z.enum(['completed', 'cancelled']).nullable()),
  hooks: field<readonly Hook[]>(empty, hooks, sizeOfJson),
  /** The statistics include hooks that are gone, so that the end of a task can be explained. */
  hookStats: field<readonly HookStats[]>(
    empty,
    hookStats,
    (stats: readonly HookStats[]) => stats.length * hookStatsSize,
  ),
  iteration: field<Iteration | null>(null, iteration.nullable(), sizeOfJson),
  checkpoints: field<readonly SavedCheckpoint[]>(empty, checkpoints, sizeOfJson),
  evaluations: field<readonly Evaluation[]>(empty, evaluations, sizeOfJson),
  /** The iterations that the last entry judged; several if a change of hooks ended their wait. */
  validated: field<readonly Judged[]>(empty, validated, sizeOfJson),
  refused: field<readonly RefusedEntry[]>(empty, refused, sizeOfJson),
  escalation: field<TaskEscalation | null>(null, taskEscalation, sizeOfJson),
  /** Used while it was the task that its worker claimed last; since the last claim. */
  usage: field<Period>(unusedPeriod, period),
};

export type TaskContext = RecordOf<typeof taskFields>;
/** `queue` null: in none, until `task.created` gives one. */
export type TaskInput = { readonly fleet: string; readonly task: string; readonly queue?: string | null };

const fresh: TaskContext = startOf(taskFields);

export const createTaskContext = ({ fleet, task, queue = null }: TaskInput): TaskContext => ({
  ...fresh,
  fleet,
  task,
  queue,
});

// The events of a task's machine: the entries of protocol.md §3 about a task, those of the worker that claims or
// releases it, and what the fold adds where there is no entry.

/** The fleet around the task, which the entry itself does not say. All of it may be left out. */
export type TaskSurroundings = {
  /** The worker that claims the task. */
  readonly worker?: string | undefined;
  /** The files that the holding worker modified, whether it may have changed any other, and its labels. */
  readonly files?: readonly string[] | undefined;
  readonly filesUnknown?: boolean | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** With `iteration.validated`: the replica that calls its remote hooks. */
  readonly owner?: string | null | undefined;
};

/** `seq` and `atMs`: the entry's place and time in the log. */
export type Place = { readonly seq: number; readonly atMs: number; readonly facts?: TaskSurroundings | undefined };
type HoldingEntry = Extract<WorkerEntry, { type: 'task.claimed' | 'task.completed' | 'task.failed' | 'task.released' }>;
/** An entry with usage of the worker that claimed the task last. */
type UsingEntry = Extract<WorkerEntry, { type: 'usage.reported' | 'stop.attempted' }>;

export type TaskEvent =
  | EventOf<TaskEntry, Place>
  | EventOf<OwnTaskEntry, Place>
  | EventOf<HoldingEntry, Place>
  | EventOf<UsingEntry, Place>
  /** The task's worker tries to stop, or works again after a block. */
  | ({ readonly type: 'attempt.opened' | 'work.resumed' } & Place)
  /** `escalation`: the one that the decision makes, where the disposition is `escalated`. */
  | ({
      readonly type: 'attempt.closed';
      readonly disposition: TaskDisposition;
      readonly escalation: TaskEscalation | null;
    } & Place)
  /** Somebody resumed its worker, for which a budget of this task was used up. */
  | ({ readonly type: 'budget.granted' } & Place)
  /** The task's worker is stale, and the policy escalates that. */
  | ({ readonly type: 'stale.escalated'; readonly escalation: TaskEscalation } & Place)
  /** The task's worker has let go of it; the steps come as the worker had them. */
  | ({ readonly type: 'steps.returned'; readonly steps: Plan } & Place)
  /** The task's hooks judged a stop. */
  | ({ readonly type: 'hooks.evaluated'; readonly runs: readonly HookRun[]; readonly attempt: string | null } & Place)
  | { readonly type: 'entry.refused'; readonly refused: RefusedEntry };

export type On<T extends TaskEvent['type']> = Extract<TaskEvent, { type: T }>;

// Which entries about a task are not valid in its current state, and why (protocol.md §3 and §7).

/** This many evaluations may be open: each holds up to 64 KiB for as long as a remote hook takes. */
const evaluationsMax = 64;

/** Says why the entry is refused; null: it is valid. */
export function refusalOf(context: TaskContext, event: TaskEvent): string | null {
  const { task, hooks, outcome } = context;
  switch (event.type) {
    case 'task.cancelled':
      return `task ${task} is ${outcome ?? 'stopped'}`;
    case 'hook.registered':
      if (hooks.some((it) => it.hook === event.data.hook)) return `hook ${event.data.hook} exists`;
      if (hooks.length >= hooksMax) return `task ${task} has ${hooksMax} hooks, the most there may be`;
      return hooks.reduce((sum, it) => sum + membersWithin(it.form), membersWithin(event.data as HookForm)) >
        hookMembersMax
        ? `the hooks of task ${task} would have more than ${hookMembersMax} members, the most there may be`
        : null;
    case 'hook.enabled':
    case 'hook.disabled':
    case 'hook.unregistered':
      return hooks.some((it) => it.hook === event.data.hook) ? null : `hook ${event.data.hook} is unknown`;
    case 'iteration.validated':
    case 'iteration.completed':
    case 'iteration.advanced':
      return iterationFault(context, event);
    default:
      return null;
  }
}

type IterationEvent = Extract<
  TaskEvent,
  { type: 'iteration.validated' | 'iteration.completed' | 'iteration.advanced' }
>;

function iterationFault({ task, iteration, evaluations }: TaskContext, event: IterationEvent): string | null {
  if (iteration === null) return 'no iteration was started';
  if (iteration.completed) return `iteration ${iteration.iteration} is completed`;
  if (event.type === 'iteration.advanced')
    return iteration.iteration < iteration.maxIterations ? null : `iteration ${iteration.iteration} is the last`;
  const { iteration: named } = event.data;
  if (named !== iteration.iteration) return `iteration ${named} is not the current one, ${iteration.iteration}`;
  if (event.type !== 'iteration.validated') return null;
  return evaluations.length >= evaluationsMax
    ? `${evaluationsMax} validations of task ${task} wait for an answer, the most there may be`
    : attemptIdFault(event.data.attempt);
}
