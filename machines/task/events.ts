/**
 * The events of a task's machine: the entries of protocol.md §3 about a task, those of the worker that claims or
 * releases it, and what the fold adds where there is no entry.
 */
import type { EventOf, OwnTaskEntry, TaskEntry, WorkerEntry } from '../entries/index.ts';
import type { RefusedEntry } from '../entries/refusal.ts';
import type { HookRun } from '../guards/task-hooks/hook.ts';
import type { Plan } from '../policy/plan.ts';
import type { TaskEscalation } from '../values/escalation.ts';
import type { TaskDisposition } from '../values/task-disposition.ts';

/** What the entry itself does not say. All of it may be left out. */
export type TaskSurroundings = {
  /** Of a claim: who claims it. */
  readonly worker?: string | undefined;
  /** Of the worker that holds it: the files that it modified, and its labels. */
  readonly files?: readonly string[] | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Of `iteration.validated`: the replica that calls its remote hooks. */
  readonly owner?: string | null | undefined;
};

/** `seq` and `atMs`: the entry's place and time in the log. */
export type Place = { readonly seq: number; readonly atMs: number; readonly facts?: TaskSurroundings | undefined };
type HoldingEntry = Extract<WorkerEntry, { type: 'task.claimed' | 'task.completed' | 'task.failed' | 'task.released' }>;
/** Of the worker that claimed it last. */
type UsingEntry = Extract<WorkerEntry, { type: 'usage.reported' | 'stop.attempted' }>;

export type TaskEvent =
  | EventOf<TaskEntry, Place>
  | EventOf<OwnTaskEntry, Place>
  | EventOf<HoldingEntry, Place>
  | EventOf<UsingEntry, Place>
  /** Its worker tries to stop; works again after a block. */
  | ({ readonly type: 'attempt.opened' | 'work.resumed' } & Place)
  /** `escalation`: the one that the decision makes, where the disposition is `escalated`. */
  | ({
      readonly type: 'attempt.closed';
      readonly disposition: TaskDisposition;
      readonly escalation: TaskEscalation | null;
    } & Place)
  /** Somebody resumed its worker, for which a budget of this task was used up. */
  | ({ readonly type: 'budget.granted' } & Place)
  /** Its worker is stale, and the policy escalates that. */
  | ({ readonly type: 'stale.escalated'; readonly escalation: TaskEscalation } & Place)
  /** Its worker has let go of it: its steps as the worker had them. */
  | ({ readonly type: 'steps.returned'; readonly steps: Plan } & Place)
  /** Its hooks judged a stop. */
  | ({ readonly type: 'hooks.evaluated'; readonly runs: readonly HookRun[]; readonly attempt: string | null } & Place)
  | { readonly type: 'entry.refused'; readonly refused: RefusedEntry };

export type On<T extends TaskEvent['type']> = Extract<TaskEvent, { type: T }>;
