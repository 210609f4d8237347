/** The context of a worker's machine: everything that is known of the worker. */
import type { RefusedEntry } from '../entries/refusal.ts';
import type { Attempt, JudgedWorker } from '../guards/attempt.ts';
import type { Decision } from '../guards/decision.ts';
import { noPlan } from '../policy/plan.ts';
import type { Resolution } from '../values/escalation.ts';
import { type InputAnswer, type InputRequest, noInputs } from '../values/questions.ts';
import type { TaskDisposition } from '../values/states.ts';
import { beginUsage } from '../values/usage.ts';

export type WorkerContext = JudgedWorker & {
  readonly profile: string | null;
  readonly policy: string | null;
  readonly queue: string | null;
  readonly parent: string | null;
  readonly cwd: string | null;
  readonly toolCount: number;
  /** Size of `files` in UTF-8, and how many older ones were dropped since the list was last emptied. */
  readonly filesBytes: number;
  readonly filesDropped: number;
  /** The worker's own usage limit; null: none. `untilMs` null: until it is cleared. */
  readonly limit: { readonly untilMs: number | null } | null;
  /** Every scope of a usage limit that it ever reported. */
  readonly scopes: readonly string[];
  /** The source whose usage reports count, by its name; null: none has reported yet. */
  readonly usageSource: string | null;
  /** The open attempt; null: none. */
  readonly attempt: Attempt | null;
  readonly lastDecision: Decision | null;
  readonly lastDisposition: TaskDisposition;
  /** The results of the held tasks' hooks in the last decision. */
  readonly lastJudgedTasks: Attempt['judgedTasks'];
  /** Tools that run, in the order in which they started. */
  readonly calls: readonly ToolCall[];
  /**
   * The tasks that it lost without completing them, other than by giving them back itself: `verify` asks about those
   * that are not stopped. Empty from its next prompt, task or registration on.
   */
  readonly heldAtEnd: readonly string[];
  /** The open input requests; not empty while `awaitsInput`. */
  readonly inputs: readonly InputRequest[];
  /** An operator's last answer to an input request. */
  readonly lastAnswer: InputAnswer | null;
  readonly refused: readonly RefusedEntry[];
  /** The operator's resolution of the last escalation, until the next prompt or registration. */
  readonly resolution: Resolution | null;
};

/** A tool that runs. `call`: the agent's id of it; null: it gave none. Up to `untilMs` its worker is not stale. */
export type ToolCall = {
  readonly tool: string;
  readonly call: string | null;
  readonly atMs: number;
  readonly untilMs: number;
};

export type WorkerInput = { readonly fleet: string; readonly worker: string; readonly atMs: number };

export const empty: readonly never[] = Object.freeze([]);
/** Nothing was modified since the last prompt or claim. */
export const noFiles = Object.freeze({ files: empty, filesBytes: 0, filesDropped: 0, filesUnknown: false });
const noLabels = Object.freeze({});

export const createWorkerContext = ({ fleet, worker, atMs }: WorkerInput): WorkerContext => ({
  fleet,
  worker,
  agent: null,
  profile: null,
  policy: null,
  queue: null,
  parent: null,
  cwd: null,
  labels: noLabels,
  interactive: null,
  ended: null,
  escalation: null,
  budgetExhausted: false,
  pause: null,
  usage: beginUsage(atMs),
  background: empty,
  inputs: noInputs.inputs,
  awaitsInput: noInputs.awaitsInput,
  retryCount: 0,
  keepAlives: 0,
  failureStreak: null,
  plan: noPlan,
  files: noFiles.files,
  filesBytes: noFiles.filesBytes,
  filesDropped: noFiles.filesDropped,
  filesUnknown: noFiles.filesUnknown,
  commands: empty,
  lastChange: null,
  promptedSeq: null,
  claimedSeq: null,
  tasks: empty,
  toolCount: 0,
  activeMs: atMs,
  limit: null,
  scopes: empty,
  usageSource: null,
  attempt: null,
  lastDecision: null,
  lastDisposition: 'held',
  lastJudgedTasks: empty,
  calls: empty,
  heldAtEnd: empty,
  lastAnswer: null,
  refused: empty,
  resolution: null,
});

/**
 * A copy with these changes. Field by field, so that all contexts have one hidden class: with spreads V8 (Node 20) makes
 * one for each worker, and no access to them is cached.
 */
export const changeContext = (it: WorkerContext, change: Partial<WorkerContext>): WorkerContext => ({
  fleet: given(change.fleet, it.fleet),
  worker: given(change.worker, it.worker),
  agent: given(change.agent, it.agent),
  profile: given(change.profile, it.profile),
  policy: given(change.policy, it.policy),
  queue: given(change.queue, it.queue),
  parent: given(change.parent, it.parent),
  cwd: given(change.cwd, it.cwd),
  labels: given(change.labels, it.labels),
  interactive: given(change.interactive, it.interactive),
  ended: given(change.ended, it.ended),
  escalation: given(change.escalation, it.escalation),
  budgetExhausted: given(change.budgetExhausted, it.budgetExhausted),
  pause: given(change.pause, it.pause),
  usage: given(change.usage, it.usage),
  background: given(change.background, it.background),
  inputs: given(change.inputs, it.inputs),
  awaitsInput: given(change.awaitsInput, it.awaitsInput),
  retryCount: given(change.retryCount, it.retryCount),
  keepAlives: given(change.keepAlives, it.keepAlives),
  failureStreak: given(change.failureStreak, it.failureStreak),
  plan: given(change.plan, it.plan),
  files: given(change.files, it.files),
  filesBytes: given(change.filesBytes, it.filesBytes),
  filesDropped: given(change.filesDropped, it.filesDropped),
  filesUnknown: given(change.filesUnknown, it.filesUnknown),
  commands: given(change.commands, it.commands),
  lastChange: given(change.lastChange, it.lastChange),
  promptedSeq: given(change.promptedSeq, it.promptedSeq),
  claimedSeq: given(change.claimedSeq, it.claimedSeq),
  tasks: given(change.tasks, it.tasks),
  toolCount: given(change.toolCount, it.toolCount),
  activeMs: given(change.activeMs, it.activeMs),
  limit: given(change.limit, it.limit),
  scopes: given(change.scopes, it.scopes),
  usageSource: given(change.usageSource, it.usageSource),
  attempt: given(change.attempt, it.attempt),
  lastDecision: given(change.lastDecision, it.lastDecision),
  lastDisposition: given(change.lastDisposition, it.lastDisposition),
  lastJudgedTasks: given(change.lastJudgedTasks, it.lastJudgedTasks),
  calls: given(change.calls, it.calls),
  heldAtEnd: given(change.heldAtEnd, it.heldAtEnd),
  lastAnswer: given(change.lastAnswer, it.lastAnswer),
  refused: given(change.refused, it.refused),
  resolution: given(change.resolution, it.resolution),
});

const given = <Value>(changed: Value | undefined, kept: Value): Value => (changed === undefined ? kept : changed);
