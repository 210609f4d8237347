/** The context of a task's machine, its events, and the reasons for refusing some of them. */
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
import { type GrantedAmounts, type Period, unusedPeriod } from '../values/usage.ts';
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
  validated: field<readonly Judged[]>(empty, validated, sizeOfJson),
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

// The events of a task's machine: entries about the task (protocol.md §3), entries of the worker that claims or
// releases it, and events that the fold derives without an entry.

/** Facts about the fleet that the entry does not contain. All are optional. */
export type TaskSurroundings = {
  /** The worker that claims the task. */
  readonly worker?: string | undefined;
  /** The files that the holding worker modified, whether it may have modified others, and its labels. */
  readonly files?: readonly string[] | undefined;
  readonly filesUnknown?: boolean | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** With `iteration.validated`: the replica that calls its remote hooks. */
  readonly owner?: string | null | undefined;
};

/** The sequence number and time of the entry, and facts from the fold. */
export type TaskEventBase = {
  readonly seq: number;
  readonly atMs: number;
  readonly facts?: TaskSurroundings | undefined;
};
type HoldingEntry = Extract<WorkerEntry, { type: 'task.claimed' | 'task.completed' | 'task.failed' | 'task.released' }>;
/** An entry that counts towards the usage of the task that the worker claimed last. */
type UsingEntry = Extract<WorkerEntry, { type: 'usage.reported' | 'stop.attempted' }>;

export type TaskEvent =
  | EventOf<TaskEntry, TaskEventBase>
  | EventOf<OwnTaskEntry, TaskEventBase>
  | EventOf<HoldingEntry, TaskEventBase>
  | EventOf<UsingEntry, TaskEventBase>
  /** The task's worker tries to stop, or resumes work after a block. */
  | ({ readonly type: 'attempt.opened' | 'work.resumed' } & TaskEventBase)
  /** `escalation`: set if the disposition is `escalated`. */
  | ({
      readonly type: 'attempt.closed';
      readonly disposition: TaskDisposition;
      readonly escalation: TaskEscalation | null;
    } & TaskEventBase)
  /** A person resumed the worker that was escalated because this task's budget was used up. */
  | ({ readonly type: 'budget.granted'; readonly data: { readonly grant: GrantedAmounts | undefined } } & TaskEventBase)
  /** The task's worker became stale, and its policy escalates that. */
  | ({ readonly type: 'stale.escalated'; readonly escalation: TaskEscalation } & TaskEventBase)
  /** The task's worker no longer holds it. `steps`: the task's steps from the worker's plan. */
  | ({ readonly type: 'steps.returned'; readonly steps: Plan } & TaskEventBase)
  /** The task's hooks judged a stop. */
  | ({
      readonly type: 'hooks.evaluated';
      readonly runs: readonly HookRun[];
      readonly attempt: string | null;
    } & TaskEventBase)
  | { readonly type: 'entry.refused'; readonly refused: RefusedEntry };

export type TaskEventOf<T extends TaskEvent['type']> = Extract<TaskEvent, { type: T }>;

// Refusals: entries about a task that are not valid in its current state (protocol.md §3 and §7).

/** Maximum number of open evaluations. Each holds up to 64 KiB for as long as a remote hook takes. */
const evaluationsMax = 64;

/** Returns the reason for refusing the entry, or null. */
export function refusalOf(context: TaskContext, event: TaskEvent): string | null {
  const { task, hooks, outcome } = context;
  switch (event.type) {
    case 'task.cancelled':
      return `task ${task} is ${outcome ?? 'stopped'}`;
    case 'hook.registered':
      if (hooks.some((known) => known.hook === event.data.hook)) return `hook ${event.data.hook} exists`;
      if (hooks.length >= hooksMax) return `task ${task} has ${hooksMax} hooks, the maximum`;
      return hooks.reduce((sum, known) => sum + membersWithin(known.form), membersWithin(event.data as HookForm)) >
        hookMembersMax
        ? `the hooks of task ${task} would have more than ${hookMembersMax} members, the maximum`
        : null;
    case 'hook.enabled':
    case 'hook.disabled':
    case 'hook.unregistered':
      return hooks.some((known) => known.hook === event.data.hook) ? null : `hook ${event.data.hook} is unknown`;
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
    ? `${evaluationsMax} validations of task ${task} wait for an answer, the maximum`
    : attemptIdFault(event.data.attempt);
}
