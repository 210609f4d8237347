/** The events of a task's machine: its entries as they are, and what the fold makes of the rest. */
import type { TaskEntry } from '../entries/index.ts';
import type { RefusedEntry } from '../entries/refusal.ts';
import type { HookRun } from '../guards/task-hooks/hook.ts';
import type { TaskEscalation } from '../values/escalation.ts';
import type { TaskDisposition } from '../values/task-disposition.ts';
import type { Evaluation } from './evaluation.ts';

type EntryEvent = TaskEntry extends infer E
  ? E extends { type: infer T; data: infer D }
    ? T extends 'iteration.validated'
      ? never
      : { readonly type: T; readonly data: D; readonly at: string }
    : never
  : never;

export type TaskEvent =
  | EntryEvent
  | { readonly type: 'task.claimed'; readonly worker: string }
  | { readonly type: 'task.completed' | 'task.released' | 'attempt.opened' | 'work.resumed' }
  | { readonly type: 'task.failed' | 'stale.escalated'; readonly escalation: TaskEscalation }
  /** `escalation`: the one that it makes, where the disposition is `escalated`. */
  | {
      readonly type: 'attempt.closed';
      readonly disposition: TaskDisposition;
      readonly escalation: TaskEscalation | null;
    }
  | { readonly type: 'escalation.acknowledged'; readonly by: string; readonly at: string }
  | { readonly type: 'escalation.notified'; readonly at: string }
  | { readonly type: 'escalation.resolved'; readonly verdict: 'resume' | 'stop' }
  | { readonly type: 'iteration.judged'; readonly failed: boolean }
  | { readonly type: 'evaluation.pending'; readonly evaluation: Evaluation }
  | { readonly type: 'evaluation.ended'; readonly attempt: string }
  | {
      readonly type: 'hooks.evaluated';
      readonly runs: readonly HookRun[];
      readonly attempt: string | null;
      readonly at: string;
    }
  | { readonly type: 'entry.refused'; readonly refused: RefusedEntry };

export type On<T extends TaskEvent['type']> = Extract<TaskEvent, { type: T }>;
