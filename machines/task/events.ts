/**
 * The events of a task's machine: entries about the task (protocol.md §3), entries of the worker that claims or
 * releases it, and events that the fold derives without an entry.
 */
import type { EventOf, OwnTaskEntry, TaskEntry, WorkerEntry } from '../entries/index.ts';
import type { RefusedEntry } from '../entries/refusal.ts';
import type { HookRun } from '../guards/task-hooks/hook.ts';
import type { Plan } from '../policy/plan.ts';
import type { TaskEscalation } from '../values/escalation.ts';
import type { TaskDisposition } from '../values/states.ts';
import type { GrantedAmounts } from '../values/usage.ts';

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
