/**
 * Makes the views that `get`, `list`, `replay --at` and the inspector show of an actor (protocol.md §10), at a moment
 * of the log's time.
 */
import type { RefusedEntry } from '../entries/refusal.ts';
import { planOfTask } from '../fleet/facts.ts';
import { type Fleet, pendingIn, type StateMove, type WorkerRecord } from '../fleet/fleet.ts';
import { policyInForce, queueOfWorker } from '../fleet/policies.ts';
import { presenceAt } from '../fleet/presence.ts';
import { nextIn } from '../fleet/queues/queues.ts';
import { openAmong } from '../fleet/refusals.ts';
import { dayUsageOf } from '../fleet/usage.ts';
import type { NextTask } from '../guards/attempt.ts';
import type { Decision, Idle } from '../guards/decision.ts';
import { idleOf } from '../guards/idle.ts';
import { awaitedWork, type BackgroundView, viewBackground } from '../policy/background.ts';
import { type BudgetLine, budgetLines } from '../policy/budget.ts';
import { idleLimitOf } from '../policy/persistence.ts';
import type { Plan } from '../policy/plan.ts';
import { nameOfWork } from '../policy/running-work.ts';
import { type HookStats, phaseOf, type SavedCheckpoint } from '../task/records.ts';
import type { Escalation, Resolution, TaskEscalation, Unattended } from '../values/escalation.ts';
import { type PauseView, pauseAt, viewPause } from '../values/pause.ts';
import type { InputAnswer, InputRequest } from '../values/questions.ts';
import type { Presence, State } from '../values/states.ts';
import { fromJsonText } from '../values/text.ts';
import { formatIsoTime } from '../values/time.ts';
import { type UsageView, viewUsage } from '../values/usage.ts';
import { sentenceOfTask, sentenceOfWorker } from './sentence.ts';
import { type Standing, standingOfTask, standingOfWorker } from './standing.ts';

/** A transition of the actor's machine, and when. */
export type TransitionView = { from: State; to: State; event: string; at: string };

/** The reason for which a check waits, and when it is asked again. */
export type PendingView = { check: string; reason: string | null; askedAgainAt: string };

export type WorkerView = {
  worker: string;
  state: State;
  presence: Presence;
  /** The presence before it; null: it has not changed since the worker is known. */
  presenceFrom: Presence | null;
  agent: string | null;
  tasks: readonly string[];
  policy: string;
  queue: string;
  profile: string | null;
  parent: string | null;
  cwd: string | null;
  labels: Readonly<Record<string, string>>;
  /** False: no person is at the session. Null: its agent did not say. */
  interactive: boolean | null;
  /** A person's pause that holds: its stops are not judged. `until` null: until the session ends. */
  paused: PauseView | null;
  retry: { count: number; max: number | null };
  keepAlives: number;
  idle: Idle;
  /**
   * The wishes of the policy to an agent: `stopWhenComplete`, `steps`, whether there are checks, and how long its
   * requests for permission are held (`askMs` null: not at all).
   */
  rules: { stopWhenComplete: boolean; steps: 'free' | 'gate'; checks: number; askMs: number | null };
  /**
   * The usage since its registration, since its last prompt, and of the task that it claimed last (null: it holds
   * none).
   */
  usage: { session: UsageView; prompt: UsageView; task: UsageView | null };
  /** The limits of the budgets that hold for it, its policy's first, and how much of each is used. */
  budgets: readonly BudgetLine[];
  plan: Plan;
  /** Tools that run, in the order in which they started; until `until` they keep it from becoming stale. */
  calls: readonly { tool: string; call: string | null; since: string; until: string }[];
  toolCount: number;
  /**
   * How many files its tools have modified. `dropped`: the number of older ones that the full list has dropped. `unknown`: a
   * tool may have changed any file.
   */
  filesModified: { count: number; dropped: number; unknown: boolean };
  /** Outstanding background work. Stops wait for it until `until` (null: without an end), unless it is ignored. */
  background: readonly BackgroundView[];
  awaitsInput: boolean;
  /** The open input requests. */
  inputs: readonly InputRequest[];
  /** The last answer of an operator. */
  lastAnswer: InputAnswer | null;
  /** The open attempt: what it waits for, and until when. */
  attempt: {
    attempt: string;
    seq: number;
    since: string;
    waitsFor: string;
    until: string | null;
    owner: string | null;
    /** The check has replied that it has no result yet. Only a service knows that: no log has it. */
    pending: PendingView | null;
  } | null;
  lastSeen: string;
  /** Says why it is out of service: its session has ended, or an operator retired it. Null: it is in service. */
  ended: 'ended' | 'retired' | null;
  /** The last transition that changed its state. */
  lastTransition: TransitionView | null;
  lastDecision: Decision | null;
  /** While it is escalated. */
  escalation: Escalation | null;
  /** The operator's resolution of the last escalation, until the next prompt or registration. */
  resolution: Resolution | null;
  refused: readonly RefusedEntry[];
  /** The standing of the worker: who waits for whom, and what would let it go. */
  standing: Standing;
  /** This says the standing in one plain sentence, as everything shows it that lists workers. */
  sentence: string;
};
export type TaskView = {
  task: string;
  state: State;
  lastTransition: TransitionView | null;
  title: string | null;
  worker: string | null;
  queue: string | null;
  policy: string | null;
  after: readonly string[];
  /** Higher first. */
  priority: number;
  outcome: 'completed' | 'cancelled' | null;
  iteration: number | null;
  maxIterations: number | null;
  phase: string | null;
  hooks: readonly { hook: string; type: string; enabled: boolean; metadata?: Readonly<Record<string, unknown>> }[];
  /** Statistics of each hook that was ever evaluated. */
  hookStats: readonly HookStats[];
  /** While it is held, its steps as its worker has them. Null: it has no plan. */
  plan: Plan | null;
  /** Used while it was the task that its worker claimed last, by whatever workers. */
  usage: UsageView;
  /** The attempt whose decision completed it; null: it is not completed, or only its worker said so. */
  judged: { worker: string; attempt: string } | null;
  /** Without their data, which may be large. */
  checkpoints: readonly Omit<SavedCheckpoint, 'context'>[];
  /** While it is escalated. */
  escalation: TaskEscalation | null;
  refused: readonly RefusedEntry[];
  /** The standing of the task: who waits for whom, and what would let it go. */
  standing: Standing;
  /** This says the standing in one plain sentence. */
  sentence: string;
};
export type Checkpoint = Omit<SavedCheckpoint, 'context'> & { readonly context: unknown };
/** The reply of `get` for one task, with the data of the checkpoint to resume from. */
export type TaskDetail = TaskView & { checkpoint: Checkpoint | null };
/**
 * `pending` counts the unclaimed tasks known here and those `reported` from elsewhere. `next`: the first three known here,
 * in the order in which they should be claimed.
 */
export type QueueView = {
  queue: string;
  pending: number;
  reported: number;
  next: readonly NextTask[];
  /**
   * The number of workers that are alive and could take its tasks: active ones that are neither stopped nor escalated.
   */
  workers: number;
  /** People are to be told that nobody could take its tasks; `since`: from when on. Null: they are not. */
  unattended: Unattended | null;
};

/** @param nowMs not before the fleet's own clock. @param pending what its check has replied that has no result yet */
export function viewWorker(
  fleet: Fleet,
  worker: string,
  nowMs: number,
  pending: PendingView | null = null,
): WorkerView | null {
  const record = fleet.workers.read(worker);
  if (record === undefined) return null;
  const { value } = record.snapshot;
  const { worker: context } = record.snapshot.context;
  const inForce = context.attempt?.inForce ?? policyInForce(fleet, context);
  const { policy } = inForce;
  const idleLimitMs = context.attempt?.idleLimitMs ?? idleLimitOf(policy, context.profile);
  const presence = presenceAt(fleet, record, nowMs);
  const pause = pauseAt(context.pause, nowMs);
  const taskUsage = fleet.tasks.get(context.tasks.at(-1) ?? '')?.snapshot.context.usage ?? null;
  // Field by field: V8 (Node 20) takes most of a microsecond for each field that follows a spread.
  const view = {
    worker,
    state: value.state,
    presence,
    // A deadline that is due may not have been handled yet.
    presenceFrom: presence === value.presence ? record.presenceFrom : value.presence,
    agent: context.agent,
    tasks: context.tasks,
    policy: inForce.name,
    queue: queueOfWorker(context, inForce),
    profile: context.profile,
    parent: context.parent,
    cwd: context.cwd,
    labels: context.labels,
    interactive: context.interactive,
    paused: pause === null ? null : viewPause(pause),
    retry: { count: context.retryCount, max: policy.retries },
    keepAlives: context.keepAlives,
    idle: idleOf(context, idleLimitMs, nowMs),
    rules: {
      stopWhenComplete: policy.stopWhenComplete,
      steps: policy.steps,
      checks: policy.checks.length,
      askMs: policy.askMs,
    },
    usage: {
      session: viewUsage(context.usage.session),
      prompt: viewUsage(context.usage.prompt),
      task: taskUsage === null ? null : viewUsage(taskUsage),
    },
    budgets: budgetLines(policy, context.usage, taskUsage, dayUsageOf(fleet, nowMs), nowMs),
    plan: context.plan,
    calls: context.calls.map(({ tool, call, atMs, untilMs }) => {
      return { tool, call, since: formatIsoTime(atMs), until: formatIsoTime(untilMs) };
    }),
    toolCount: context.toolCount,
    filesModified: { count: context.files.length, dropped: context.filesDropped, unknown: context.filesUnknown },
    background: viewBackground(context.background, policy.background),
    awaitsInput: context.awaitsInput,
    inputs: context.inputs,
    lastAnswer: context.lastAnswer,
    attempt: viewAttempt(record, pending),
    lastSeen: formatIsoTime(record.lastSeenMs),
    ended: context.ended,
    lastTransition: viewTransition(record.lastMove),
    lastDecision: context.lastDecision,
    escalation: context.escalation,
    resolution: context.resolution,
    refused: context.refused,
  };
  const awaited = awaitedWork(context.background, policy.background, nowMs).map(nameOfWork);
  return Object.assign(view, { standing: standingOfWorker(view, awaited), sentence: sentenceOfWorker(view, awaited) });
}

function viewAttempt({ snapshot, wakeMs, owner }: WorkerRecord, pending: PendingView | null): WorkerView['attempt'] {
  const { attempt } = snapshot.context.worker;
  if (attempt === null) return null;
  const waitsFor = attempt.pending === null ? 'hold' : `check ${attempt.pending.name}`;
  const until = wakeMs === null ? null : formatIsoTime(wakeMs);
  const since = formatIsoTime(attempt.atMs);
  return { attempt: attempt.attempt, seq: attempt.seq, since, waitsFor, until, owner, pending };
}

const viewTransition = (move: StateMove | null): TransitionView | null =>
  move === null ? null : { from: move.from, to: move.to, event: move.event, at: formatIsoTime(move.atMs) };

export function viewTask(fleet: Fleet, task: string): TaskView | null {
  const record = fleet.tasks.get(task);
  if (record === undefined) return null;
  const { value, context } = record.snapshot;
  const view = {
    task,
    state: value,
    lastTransition: viewTransition(record.lastMove),
    title: context.title,
    worker: context.worker,
    queue: context.queue,
    policy: context.policy,
    after: context.after,
    priority: context.priority,
    outcome: context.outcome,
    iteration: context.iteration?.iteration ?? null,
    maxIterations: context.iteration?.maxIterations ?? null,
    phase: phaseOf(context),
    hooks: context.hooks.map(({ hook, enabled, form: { type }, metadata }) => ({
      hook,
      type,
      enabled,
      ...(metadata === null ? {} : { metadata: fromJsonText(metadata) as Readonly<Record<string, unknown>> }),
    })),
    hookStats: context.hookStats,
    usage: viewUsage(context.usage),
    plan: context.worker === null || context.plan === null ? context.plan : planOfTask(fleet, task),
    judged: record.judged === null ? null : { worker: record.judged.worker, attempt: record.judged.attempt },
    checkpoints: context.checkpoints.map(({ context: _, ...saved }) => saved),
    escalation: context.escalation,
    refused: context.refused,
  };
  const openAfter = openAmong(fleet, context.after);
  return {
    ...view,
    standing: standingOfTask(view, openAfter, partnerOf(fleet, context.escalation)),
    sentence: sentenceOfTask(view, openAfter),
  };
}

/** The worker that the task was escalated with; null: none, or it is unknown. */
function partnerOf(fleet: Fleet, escalation: TaskEscalation | null) {
  const found = escalation?.withWorker ? fleet.workers.read(escalation.worker)?.snapshot : undefined;
  if (found === undefined) return null;
  const { escalation: its, resolution } = found.context.worker;
  return { state: found.value.state, escalation: its, resolution };
}

/** @param checkpoint which one; the last where none is named. Null: it is not there */
export function checkpointOf(fleet: Fleet, task: string, checkpoint: string | null): Checkpoint | null {
  const saved = fleet.tasks.get(task)?.snapshot.context.checkpoints ?? [];
  const found = saved.findLast((it) => checkpoint === null || it.checkpoint === checkpoint);
  return found === undefined ? null : { ...found, context: fromJsonText(found.context) };
}

/** Returns null if no entry has named the queue. `main` always exists. */
export function viewQueue(fleet: Fleet, queue: string): QueueView | null {
  const known = fleet.queues.get(queue);
  if (known === undefined && queue !== 'main') return null;
  return {
    queue,
    pending: pendingIn(fleet, queue),
    reported: known?.reported ?? 0,
    next: nextIn(fleet, queue),
    workers: fleet.attendants.get(queue) ?? 0,
    unattended: known?.unattended ?? null,
  };
}

export type FleetView = {
  workers: Record<string, WorkerView>;
  tasks: Record<string, TaskView>;
  queues: Record<string, QueueView>;
};

export function viewFleet(fleet: Fleet): FleetView {
  const all = <View>(ids: Iterable<string>, view: (id: string) => View | null): Record<string, View> =>
    Object.fromEntries([...ids].map((id) => [id, view(id)]).filter((it): it is [string, View] => it[1] !== null));
  return {
    workers: all(fleet.workers.keys(), (id) => viewWorker(fleet, id, fleet.nowMs)),
    tasks: all(fleet.tasks.keys(), (id) => viewTask(fleet, id)),
    queues: all(new Set(['main', ...fleet.queues.keys()]), (id) => viewQueue(fleet, id)),
  };
}
