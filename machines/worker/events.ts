/** The events of a worker's machine: its entries as they are, and what the fold makes of the rest. */
import type { AttemptFields } from '../entries/attempt.ts';
import type { WorkerEntry } from '../entries/index.ts';
import type { RefusedEntry } from '../entries/refusal.ts';
import type { Facts, PolicyInForce } from '../guards/attempt.ts';
import type { Stopwatch } from '../guards/evaluate.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import type { Plan } from '../policy/plan.ts';
import type { Presence } from '../values/states.ts';

type At = { readonly atMs: number };
/** What an evaluation of the guards needs. */
type Surroundings = { readonly facts: Facts; readonly stopwatch: Stopwatch };
type EntryEvent = WorkerEntry extends infer E
  ? E extends { type: infer T; data: infer D }
    ? T extends 'stop.attempted'
      ? never
      : { readonly type: T; readonly data: D } & At
    : never
  : never;

export type WorkerEvent =
  | EntryEvent
  /** A claim brings the task's own plan, where it has one. */
  | ({ readonly type: 'task.taken'; readonly task: string; readonly plan: Plan | null } & At)
  /** A held task is no longer this worker's. */
  | ({ readonly type: 'task.lost'; readonly task: string } & At)
  | ({
      readonly type: 'stop.attempted';
      readonly attempt: string;
      readonly seq: number;
      readonly fields: AttemptFields;
      readonly inForce: PolicyInForce;
    } & Surroundings)
  /** The answer from outside to the open attempt's pending check. */
  | ({ readonly type: 'check.finished'; readonly result: CheckResult } & Surroundings)
  /** A deadline of the open attempt has come, or a task has arrived for it. */
  | ({ readonly type: 'attempt.resumed' } & Surroundings)
  | { readonly type: 'attempt.superseded'; readonly facts: Facts }
  | ({ readonly type: 'session.closed'; readonly as: 'ended' | 'retired'; readonly facts: Facts } & At)
  | ({ readonly type: 'escalation.acknowledged'; readonly by: string } & At)
  | ({ readonly type: 'escalation.notified' } & At)
  | ({
      readonly type: 'escalation.resolved';
      readonly by: string;
      readonly verdict: 'resume' | 'stop';
      readonly prompt: string | null;
    } & At)
  | { readonly type: 'presence.changed'; readonly presence: Presence }
  | { readonly type: 'files.cleared' }
  | { readonly type: 'entry.refused'; readonly refused: RefusedEntry };

export type On<T extends WorkerEvent['type']> = Extract<WorkerEvent, { type: T }>;
