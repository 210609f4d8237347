/** What a worker is: its data, the events that change it, and what each entry does to it (protocol 3 and 4). */

import type { AttemptFields } from '../entries/attempt.ts';
import type { WorkerEntry } from '../entries/index.ts';
import { filesMax } from '../entries/limits.ts';
import type { RefusedEntry } from '../entries/refusal.ts';
import type { Attempt, Facts, Judged, PolicyInForce } from '../guards/attempt.ts';
import type { Decision } from '../guards/decision.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import type { Plan } from '../policy/plan.ts';
import type { Resolution } from '../values/escalation.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import type { Presence } from '../values/states.ts';
import type { TaskDisposition } from '../values/task-disposition.ts';

type At = { readonly atMs: number };
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
  | {
      readonly type: 'stop.attempted';
      readonly attempt: string;
      readonly seq: number;
      readonly fields: AttemptFields;
      readonly inForce: PolicyInForce;
      readonly facts: Facts;
    }
  /** An answer from outside to what the open attempt asked. */
  | { readonly type: 'check.finished'; readonly result: CheckResult; readonly facts: Facts }
  /** A deadline of the open attempt has come, or a task has arrived for it. */
  | { readonly type: 'attempt.resumed'; readonly facts: Facts }
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

export type WorkerContext = Judged & {
  readonly agent: string | null;
  readonly profile: string | null;
  readonly policy: string | null;
  readonly queue: string | null;
  readonly parent: string | null;
  readonly cwd: string | null;
  readonly toolCount: number;
  /** Null: none of its own; `untilMs` null: until cleared. */
  readonly limit: { readonly untilMs: number | null } | null;
  /** Every scope of a usage limit that it ever reported. */
  readonly scopes: readonly string[];
  readonly attempt: Attempt | null;
  readonly lastDecision: Decision | null;
  readonly lastDisposition: TaskDisposition;
  /** What the hooks of the last decision wanted saved with the task. */
  readonly lastCheckpoint: Attempt['checkpoint'];
  /** What each of them said. */
  readonly lastOpinions: Attempt['opinions'];
  readonly refused: readonly RefusedEntry[];
  /** The last one; a prompt or a registration is a new beginning. */
  readonly resolution: Resolution | null;
};

export type Change = Partial<WorkerContext>;
export type On<T extends WorkerEvent['type']> = Extract<WorkerEvent, { type: T }>;
export const empty: readonly never[] = Object.freeze([]);
export const countsAnew = { retryCount: 0, keepAlives: 0, stuck: null } as const;
const notEscalated = { escalation: null, resolution: null } as const;

export function registered(_context: WorkerContext, { data, atMs }: On<'worker.registered'>): Change {
  const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
  const anew = { ended: null, awaitsInput: false, background: empty, budgetExhausted: false };
  return { ...given, ...anew, ...notEscalated, ...countsAnew, activeMs: atMs };
}

export function prompted(context: WorkerContext): Change {
  if (context.ended === 'retired') return {};
  const anew = { ended: null, awaitsInput: false, budgetExhausted: false, files: empty };
  return { ...anew, ...notEscalated, ...countsAnew };
}

export function usedTool(context: WorkerContext, { data }: On<'tool.used'>): WorkerContext {
  const toolCount = context.toolCount + 1;
  const given = data.files ?? empty;
  // Many by many would take seconds of every replica.
  const known = given.length > 8 ? new Set(context.files) : { has: (file: string) => context.files.includes(file) };
  const added = given.filter((file) => !known.has(file));
  if (added.length === 0) return { ...context, toolCount };
  return { ...context, toolCount, files: [...context.files, ...new Set(added)].slice(0, filesMax) };
}

export function tookTask(context: WorkerContext, { task, plan, atMs }: On<'task.taken'>): Change {
  const tasks = [...context.tasks.filter((held) => held !== task), task];
  return { ...countsAnew, tasks, activeMs: atMs, files: empty, ...(plan === null ? {} : { plan }) };
}

export const letGo = (context: WorkerContext, task: string, atMs: number): Change => ({
  ...countsAnew,
  tasks: context.tasks.filter((held) => held !== task),
  activeMs: atMs,
});

export function limitReached(context: WorkerContext, { data }: On<'limit.reached'>): Change {
  const { scope } = data;
  if (scope === undefined) return { limit: { untilMs: data.until ?? null } };
  return context.scopes.includes(scope) ? {} : { scopes: [...context.scopes, scope] };
}

export function resolve(_context: WorkerContext, { atMs, by, verdict, prompt }: On<'escalation.resolved'>): Change {
  return { escalation: null, resolution: { at: formatIsoTime(atMs), by, verdict, prompt } };
}
