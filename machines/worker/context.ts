/**
 * The context of a worker's machine. `workerFields` describes each field once; type, initial context, copies, size and
 * snapshots are derived from it.
 */
import { z } from 'zod';
import type { RefusedEntry } from '../entries/refusal.ts';
import type { Attempt, FailureStreak } from '../guards/attempt.ts';
import { attemptShape } from '../guards/attempt-shape.ts';
import { type Decision, decisionSizeBeyond, keptDecision } from '../guards/decision.ts';
import { judgedTasks } from '../guards/task-hooks/hook-shape.ts';
import type { BackgroundWork } from '../policy/background.ts';
import type { Evidence } from '../policy/commands.ts';
import { noPlan, type Plan, sizeOfPlan } from '../policy/plan.ts';
import type { Escalation, Resolution } from '../values/escalation.ts';
import { codedField, field, perItem, type RecordOf, sizeOfJson, startOf } from '../values/fields.ts';
import type { Pause } from '../values/pause.ts';
import { type InputAnswer, type InputRequest, noInputs } from '../values/questions.ts';
import {
  count,
  escalation,
  flag,
  grantedAmounts,
  lazy,
  number,
  object,
  overdue,
  period,
  plan,
  refused,
  text,
  textOrNull,
  texts,
  time,
  timeOrNull,
} from '../values/shapes.ts';
import type { TaskDisposition } from '../values/states.ts';
import { beginUsage, type Period, type WorkerUsage } from '../values/usage.ts';

/** A running tool. `call`: the agent's id for it, or null. Until `untilMs` it keeps its worker from being stale. */
export type ToolCall = {
  readonly tool: string;
  readonly call: string | null;
  readonly atMs: number;
  readonly untilMs: number;
};

export type WorkerInput = { readonly fleet: string; readonly worker: string; readonly atMs: number };

export const empty: readonly never[] = Object.freeze([]);
/** No file was modified since the last prompt or claim. */
export const noFiles = Object.freeze({ files: empty, filesBytes: 0, filesDropped: 0, filesUnknown: false });

/** Ignores the parts that attempts share: the policy and the facts about the fleet. */
const sizeOfAttempt = ({ fields, verdicts, feedback, findings, hookResults, judgedTasks: judged }: Attempt): number =>
  [fields, verdicts, feedback, findings, hookResults, judged].reduce((sum, part) => sum + sizeOfJson(part), 0);

const periods = lazy(() => z.array(period).min(1).max(2) as z.ZodType<readonly Period[]>);

/** For each field: initial value, schema in snapshots, and size. */
export const workerFields = {
  fleet: field<string>('', text),
  worker: field<string>('', text),
  agent: field<string | null>(null, textOrNull, sizeOfJson),
  profile: field<string | null>(null, textOrNull),
  policy: field<string | null>(null, textOrNull),
  queue: field<string | null>(null, textOrNull),
  parent: field<string | null>(null, textOrNull),
  cwd: field<string | null>(null, textOrNull, sizeOfJson),
  /** The first line of the first prompt by a person, by which people recognise the session; null before it. */
  title: field<string | null>(null, textOrNull, sizeOfJson),
  labels: field<Readonly<Record<string, string>>>(Object.freeze({}), z.record(text, text), sizeOfJson),
  /** False if nobody attends the session, so that it ends with its turn; null if the agent did not say. */
  interactive: field<boolean | null>(null, flag.nullable()),
  ended: field<'ended' | 'retired' | null>(null, z.enum(['ended', 'retired']).nullable()),
  escalation: field<Escalation | null>(null, escalation, sizeOfJson),
  budgetExhausted: field<boolean>(false, flag),
  /** The last pause by a person, which may be over, or null. */
  pause: field<Pause | null>(null, object({ by: text, sinceMs: time, untilMs: timeOrNull }).nullable(), sizeOfJson),
  usage: codedField<WorkerUsage, readonly Period[]>(beginUsage(0), periods, {
    // The session's usage, then the prompt's unless it is the same object.
    write: ({ session, prompt }) => (session === prompt ? [session] : [session, prompt]),
    read: ([session, prompt]) => ({ session: session as Period, prompt: prompt ?? (session as Period) }),
  }),
  /** Outstanding background work in starting order. */
  background: field<readonly BackgroundWork[]>(
    empty,
    z.array(object({ id: text, kind: textOrNull, command: textOrNull, sinceMs: time })),
    sizeOfJson,
  ),
  /** The open input requests; not empty while `awaitsInput`. */
  inputs: field<readonly InputRequest[]>(
    noInputs.inputs,
    lazy(() =>
      z.array(
        object({
          request: textOrNull,
          kind: textOrNull,
          message: textOrNull,
          tool: textOrNull,
          detail: textOrNull,
          since: text,
          seq: count,
          overdue: overdue.optional(),
        }),
      ),
    ),
    sizeOfJson,
  ),
  awaitsInput: field<boolean>(noInputs.awaitsInput, flag),
  retryCount: field<number>(0, count),
  keepAlives: field<number>(0, count),
  failureStreak: field<FailureStreak | null>(null, object({ reason: text, count }).nullable(), sizeOfJson),
  plan: field<Plan>(noPlan, plan, sizeOfPlan),
  files: field<readonly string[]>(
    noFiles.files,
    texts,
    (files: readonly string[], { filesBytes }: { readonly filesBytes: number }) => filesBytes + files.length * perItem,
  ),
  /** Size of `files` in UTF-8, and the number of files dropped since the list was last emptied. */
  filesBytes: field<number>(noFiles.filesBytes, number),
  filesDropped: field<number>(noFiles.filesDropped, number),
  /** A tool may have changed any file since `files` was last emptied. */
  filesUnknown: field<boolean>(noFiles.filesUnknown, flag),
  commands: field<Evidence['commands']>(empty, z.array(object({ command: text, seq: count, ok: flag })), sizeOfJson),
  lastChange: field<Evidence['lastChange']>(null, object({ seq: count, file: text }).nullable(), sizeOfJson),
  promptedSeq: field<number | null>(null, count.nullable()),
  claimedSeq: field<number | null>(null, count.nullable()),
  tasks: field<readonly string[]>(empty, texts, sizeOfJson),
  toolCount: field<number>(0, number),
  activeMs: field<number>(0, time),
  /** The worker's own usage limit, or null. `untilMs` is null if the limit lasts until it is cleared. */
  limit: field<{ readonly untilMs: number | null } | null>(null, object({ untilMs: timeOrNull }).nullable()),
  /** Every usage limit scope that it ever reported. */
  scopes: field<readonly string[]>(empty, texts, sizeOfJson),
  /** The source whose usage reports count; null until one has named itself. */
  usageSource: field<string | null>(null, textOrNull, sizeOfJson),
  /** The open attempt, or null. */
  attempt: field<Attempt | null>(null, attemptShape.nullable(), sizeOfAttempt),
  lastDecision: field<Decision | null>(null, keptDecision.nullable(), decisionSizeBeyond),
  lastDisposition: field<TaskDisposition>('held', z.enum(['completed', 'blocked', 'escalated', 'released', 'held'])),
  /** The results of the held tasks' hooks in the last decision. */
  lastJudgedTasks: field<Attempt['judgedTasks']>(empty, judgedTasks, sizeOfJson),
  /** Running tools in starting order. */
  calls: field<readonly ToolCall[]>(
    empty,
    z.array(object({ tool: text, call: textOrNull, atMs: time, untilMs: time })),
    sizeOfJson,
  ),
  /**
   * Uncompleted tasks that were taken from it, as opposed to tasks it released itself. `verify` includes those that are
   * not stopped. Emptied by its next prompt, claim or registration.
   */
  heldAtEnd: field<readonly string[]>(empty, texts, sizeOfJson),
  /** An operator's last answer to an input request. */
  lastAnswer: field<InputAnswer | null>(
    null,
    object({ request: text, verdict: z.enum(['allow', 'deny']), message: textOrNull, by: text, at: text }).nullable(),
    sizeOfJson,
  ),
  refused: field<readonly RefusedEntry[]>(empty, refused, sizeOfJson),
  /** The operator's resolution of the last escalation, until the next prompt or registration. */
  resolution: field<Resolution | null>(
    null,
    lazy(() =>
      object({
        at: text,
        by: text,
        verdict: z.enum(['resume', 'stop']),
        prompt: textOrNull,
        granted: grantedAmounts.optional(),
      }).nullable(),
    ),
    sizeOfJson,
  ),
};

export type WorkerContext = RecordOf<typeof workerFields>;

const fresh: WorkerContext = startOf(workerFields);

export const createWorkerContext = ({ fleet, worker, atMs }: WorkerInput): WorkerContext =>
  changeContext(fresh, { fleet, worker, activeMs: atMs, usage: beginUsage(atMs) });

/** Returns a copy with these changes. Undefined fields do not change. */
export function changeContext(worker: WorkerContext, change: Partial<WorkerContext>): WorkerContext {
  const copy = copyOf(worker) as Record<string, unknown>;
  for (const name in change) {
    const value = change[name as keyof WorkerContext];
    if (value !== undefined) copy[name] = value;
  }
  return copy as WorkerContext;
}

/**
 * A literal of all fields gives every context the same hidden class. With `{ ...worker }`, V8 (Node 20) creates one for
 * each copy of a copy; a loop over the names takes six times as long. A missing field is a compile error.
 */
const copyOf = (worker: WorkerContext): WorkerContext => ({
  fleet: worker.fleet,
  worker: worker.worker,
  agent: worker.agent,
  profile: worker.profile,
  policy: worker.policy,
  queue: worker.queue,
  parent: worker.parent,
  cwd: worker.cwd,
  title: worker.title,
  labels: worker.labels,
  interactive: worker.interactive,
  ended: worker.ended,
  escalation: worker.escalation,
  budgetExhausted: worker.budgetExhausted,
  pause: worker.pause,
  usage: worker.usage,
  background: worker.background,
  inputs: worker.inputs,
  awaitsInput: worker.awaitsInput,
  retryCount: worker.retryCount,
  keepAlives: worker.keepAlives,
  failureStreak: worker.failureStreak,
  plan: worker.plan,
  files: worker.files,
  filesBytes: worker.filesBytes,
  filesDropped: worker.filesDropped,
  filesUnknown: worker.filesUnknown,
  commands: worker.commands,
  lastChange: worker.lastChange,
  promptedSeq: worker.promptedSeq,
  claimedSeq: worker.claimedSeq,
  tasks: worker.tasks,
  toolCount: worker.toolCount,
  activeMs: worker.activeMs,
  limit: worker.limit,
  scopes: worker.scopes,
  usageSource: worker.usageSource,
  attempt: worker.attempt,
  lastDecision: worker.lastDecision,
  lastDisposition: worker.lastDisposition,
  lastJudgedTasks: worker.lastJudgedTasks,
  calls: worker.calls,
  heldAtEnd: worker.heldAtEnd,
  lastAnswer: worker.lastAnswer,
  refused: worker.refused,
  resolution: worker.resolution,
});
