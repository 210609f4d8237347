/**
 * The views of actors that `get`, `list`, `replay --at` and the inspector show (protocol.md §10), for a time by the
 * log's clock.
 */
import type { RefusedEntry } from '../entries/refusal.ts';
import { planOfTask } from '../fleet/facts.ts';
import { type Fleet, pendingIn, type StateMove, type TaskRecord, type WorkerRecord } from '../fleet/fleet.ts';
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
import type { Presence, State, ViewedPresence } from '../values/states.ts';
import { fromJsonText } from '../values/text.ts';
import { formatIsoTime } from '../values/time.ts';
import { type UsageView, viewUsage } from '../values/usage.ts';
import { viewedPresence } from './interrupted.ts';
import { sentenceOfTask, sentenceOfWorker } from './sentence.ts';
import { type Standing, standingOfTask, standingOfWorker } from './standing.ts';

/** A transition of the actor's machine, with its time. */
export type TransitionView = { from: State; to: State; event: string; at: string };

/** Why a check has no result yet, and when it is asked again. */
export type PendingView = { check: string; reason: string | null; askedAgainAt: string };

export type WorkerView = {
  worker: string;
  state: State;
  presence: ViewedPresence;
  /** The previous presence; null if it has never changed. */
  presenceFrom: Presence | null;
  agent: string | null;
  tasks: readonly string[];
  policy: string;
  queue: string;
  profile: string | null;
  parent: string | null;
  cwd: string | null;
  /** The first line of the first prompt by a person, at most 80 characters; null before it. */
  title: string | null;
  labels: Readonly<Record<string, string>>;
  /** False if nobody attends the session; null if the agent did not say. */
  interactive: boolean | null;
  /** The pause in effect, during which stops are not judged. `until` is null if it lasts until the session ends. */
  paused: PauseView | null;
  retry: { count: number; max: number | null };
  keepAlives: number;
  idle: Idle;
  /**
   * The parts of the policy that adapters follow. `checks`: the number of checks. `askMs`: how long permission requests
   * are held, or null.
   */
  rules: { stopWhenComplete: boolean; steps: 'free' | 'gate'; checks: number; askMs: number | null };
  /** The usage since its registration, since its last prompt, and of the task that it claimed last, or null. */
  usage: { session: UsageView; prompt: UsageView; task: UsageView | null };
  /** The budget limits that apply, those of its policy first, with the usage of each. */
  budgets: readonly BudgetLine[];
  plan: Plan;
  /** Running tools in starting order. Until `until` they keep the worker from becoming stale. */
  calls: readonly { tool: string; call: string | null; since: string; until: string }[];
  toolCount: number;
  /**
   * The number of files that its tools have modified. `dropped`: the number of older ones dropped from the full list.
   * `unknown`: a tool may have changed any file.
   */
  filesModified: { count: number; dropped: number; unknown: boolean };
  /** Outstanding background work. Stops wait for it until `until` (null is forever), unless it is `ignored`. */
  background: readonly BackgroundView[];
  awaitsInput: boolean;
  /** The open input requests. */
  inputs: readonly InputRequest[];
  /** The last answer of an operator. */
  lastAnswer: InputAnswer | null;
  /** The open attempt, with what it waits for and until when. */
  attempt: {
    attempt: string;
    seq: number;
    since: string;
    waitsFor: string;
    until: string | null;
    owner: string | null;
    /** Set if the check replied that it has no result yet. Known only to a running service, not in the log. */
    pending: PendingView | null;
  } | null;
  lastSeen: string;
  /** Set if it is out of service: its session has ended, or an operator retired it. */
  ended: 'ended' | 'retired' | null;
  /** The last transition that changed its state. */
  lastTransition: TransitionView | null;
  lastDecision: Decision | null;
  /** While it is escalated. */
  escalation: Escalation | null;
  /** The operator's resolution of the last escalation, until the next prompt or registration. */
  resolution: Resolution | null;
  refused: readonly RefusedEntry[];
  /** Who waits for whom, and what would let it proceed. */
  standing: Standing;
  /** The standing in one plain sentence, as shown in all lists. */
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
  /** Tasks with a higher priority are claimed first. */
  priority: number;
  outcome: 'completed' | 'cancelled' | null;
  iteration: number | null;
  maxIterations: number | null;
  phase: string | null;
  hooks: readonly { hook: string; type: string; enabled: boolean; metadata?: Readonly<Record<string, unknown>> }[];
  /** Statistics of each hook that was ever evaluated. */
  hookStats: readonly HookStats[];
  /** While the task is held, its steps in the worker's plan. Null if it has no plan. */
  plan: Plan | null;
  /** Usage by all its workers, while it was the task that each claimed last. */
  usage: UsageView;
  /** The attempt whose decision completed it; null if it is not completed, or its worker reported the completion. */
  judged: { worker: string; attempt: string } | null;
  /** Without their contexts, which may be large. */
  checkpoints: readonly Omit<SavedCheckpoint, 'context'>[];
  /** While it is escalated. */
  escalation: TaskEscalation | null;
  refused: readonly RefusedEntry[];
  /** Who waits for whom, and what would let it proceed. */
  standing: Standing;
  /** The standing in one plain sentence. */
  sentence: string;
};
export type Checkpoint = Omit<SavedCheckpoint, 'context'> & { readonly context: unknown };
/** The reply of `get` for one task, including the checkpoint to resume from. */
export type TaskDetail = TaskView & { checkpoint: Checkpoint | null };
/**
 * `pending` counts ready tasks plus the `reported` depth of an external queue. `next`: the first three ready tasks in
 * claiming order.
 */
export type QueueView = {
  queue: string;
  pending: number;
  reported: number;
  next: readonly NextTask[];
  /** The number of workers that could take its tasks: active ones that are neither stopped nor escalated. */
  workers: number;
  /** Set once people are to be notified that no worker could take its tasks. `since`: when that began. */
  unattended: Unattended | null;
};

/**
 * @param nowMs not before the fleet's own clock
 * @param pending the reply of its pending check, if that has no result yet
 */
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
  const { ended, lastDecision } = context;
  const presence = viewedPresence(presenceAt(fleet, record, nowMs), { state: value.state, ended, lastDecision });
  const pause = pauseAt(context.pause, nowMs);
  const taskUsage = fleet.tasks.get(context.tasks.at(-1) ?? '')?.snapshot.context.usage ?? null;
  // No spreads: V8 (Node 20) takes almost a microsecond for each field that follows a spread.
  const view = {
    worker,
    state: value.state,
    presence,
    // The machine's presence may be outdated, if its deadline has not fired yet.
    presenceFrom: presence === value.presence ? record.presenceFrom : value.presence,
    agent: context.agent,
    tasks: context.tasks,
    policy: inForce.name,
    queue: queueOfWorker(context, inForce),
    profile: context.profile,
    parent: context.parent,
    cwd: context.cwd,
    title: context.title,
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
  const since = formatIsoTime(heldOrMovedMs(record));
  return {
    ...view,
    standing: standingOfTask({ ...view, since }, openAfter, partnerOf(fleet, context.escalation)),
    sentence: sentenceOfTask(view, openAfter),
  };
}

/** A held task changes its state with each attempt of its worker, which still holds it since its claim. */
const heldOrMovedMs = ({ snapshot: { context }, lastMove, createdMs }: TaskRecord): number =>
  context.worker === null ? (lastMove?.atMs ?? createdMs) : context.usage.sinceMs;

/** Returns the worker that the task was escalated with, or null. */
function partnerOf(fleet: Fleet, escalation: TaskEscalation | null) {
  const found = escalation?.withWorker ? fleet.workers.read(escalation.worker)?.snapshot : undefined;
  if (found === undefined) return null;
  const { worker } = found.context;
  return { state: found.value.state, escalation: worker.escalation, resolution: worker.resolution };
}

/**
 * @param checkpoint its id; null for the last one
 * @returns null if there is none
 */
export function checkpointOf(fleet: Fleet, task: string, checkpoint: string | null): Checkpoint | null {
  const saved = fleet.tasks.get(task)?.snapshot.context.checkpoints ?? [];
  const found = saved.findLast((candidate) => checkpoint === null || candidate.checkpoint === checkpoint);
  return found === undefined ? null : { ...found, context: fromJsonText(found.context) };
}

/** Returns null for an unknown queue. `main` always exists. */
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
    Object.fromEntries(
      [...ids].map((id) => [id, view(id)]).filter((entry): entry is [string, View] => entry[1] !== null),
    );
  return {
    workers: all(fleet.workers.keys(), (id) => viewWorker(fleet, id, fleet.nowMs)),
    tasks: all(fleet.tasks.keys(), (id) => viewTask(fleet, id)),
    queues: all(new Set(['main', ...fleet.queues.keys()]), (id) => viewQueue(fleet, id)),
  };
}
