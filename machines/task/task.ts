/**
 * Task: one unit of work, from its creation to its completion (protocol 4), with the hooks and iterations that were
 * set on it (protocol 7). Whether an entry makes sense now is asked by the fleet before it is sent here.
 */
import { assign, type SnapshotFrom, setup } from 'xstate';
import type { HookForm } from '../entries/hook.ts';
import type { TaskEntry } from '../entries/index.ts';
import type { RefusedEntry } from '../entries/refusal.ts';
import type { Hook, HookResults, HookRun, Iteration } from '../guards/task-hooks/hook.ts';
import type { Plan } from '../policy/plan.ts';
import { acknowledge, noteNotice, type TaskEscalation } from '../values/escalation.ts';
import type { TaskDisposition } from '../values/task-disposition.ts';

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
  | { readonly type: 'task.failed'; readonly escalation: TaskEscalation }
  /** `escalation`: what it is, where the disposition is that. */
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

export type Checkpoint = {
  readonly checkpoint: string;
  readonly at: string;
  readonly phase: string | null;
  readonly step: string | number | null;
  readonly context: unknown;
};

/** An `iteration.validated` whose remote hooks have not all answered. */
export type Evaluation = {
  readonly attempt: string;
  readonly seq: number;
  /** The replica that asks, if one took the request. */
  readonly owner: string | null;
  /** As it was: the loop may go on meanwhile. */
  readonly iteration: Iteration;
  readonly fields: Extract<TaskEntry, { type: 'iteration.validated' }>['data'];
  readonly results: HookResults;
  /** The hook that it waits for. `number`: which one of this evaluation, 1-based. */
  readonly pending: {
    readonly number: number;
    readonly key: string;
    readonly name: string;
    readonly deadlineMs: number;
  };
};

/** How often a hook was asked and what it said (seed 001, Hook Metrics). `tookMs`: of its remote parts, in all. */
export type HookStats = {
  readonly hook: string;
  readonly type: string;
  readonly asked: number;
  readonly complete: number;
  readonly continue: number;
  readonly escalate: number;
  readonly skip: number;
  readonly errors: number;
  readonly tookMs: number;
  readonly last: {
    readonly at: string;
    readonly attempt: string | null;
    readonly action: HookRun['action'];
    readonly reason: string;
  };
};

export type TaskContext = {
  readonly task: string;
  readonly title: string | null;
  /** Null: in no queue, so never pending. */
  readonly queue: string | null;
  readonly plan: Plan | null;
  readonly policy: string | null;
  readonly after: readonly string[];
  readonly worker: string | null;
  /** How it came to `stopped`. */
  readonly outcome: 'completed' | 'cancelled' | null;
  readonly hooks: readonly Hook[];
  /** Of hooks that are gone too, so that the end of a task can be explained. */
  readonly hookStats: readonly HookStats[];
  readonly iteration: Iteration | null;
  readonly checkpoints: readonly Checkpoint[];
  readonly evaluations: readonly Evaluation[];
  readonly refused: readonly RefusedEntry[];
  readonly escalation: TaskEscalation | null;
};
export type TaskInput = { readonly task: string; readonly queue: string | null };
export type TaskSnapshot = SnapshotFrom<typeof taskMachine>;

type On<T extends TaskEvent['type']> = Extract<TaskEvent, { type: T }>;
const empty: readonly never[] = Object.freeze([]);
const checkpointsMax = 50;
const refusedMax = 20;
const hookStatsMax = 64;
const reasonLengthMax = 500;

function created(context: TaskContext, { data }: On<'task.created'>): Partial<TaskContext> {
  const { title, plan, policy, after } = data;
  return {
    queue: data.queue ?? context.queue ?? 'main',
    ...(title === undefined ? {} : { title }),
    ...(plan === undefined ? {} : { plan }),
    ...(policy === undefined ? {} : { policy }),
    ...(after === undefined ? {} : { after }),
  };
}

function hookRegistered(context: TaskContext, { data }: On<'hook.registered'>): Partial<TaskContext> {
  const { hook, enabled, ...form } = data;
  return {
    hooks: [...context.hooks, { hook: hook ?? freeHookId(context), enabled: enabled ?? true, form: form as HookForm }],
  };
}

/** The id of a hook that was registered without one. */
function freeHookId({ hooks }: TaskContext): string {
  for (let count = hooks.length + 1; ; count += 1) {
    const id = `hook-${count}`;
    if (!hooks.some((it) => it.hook === id)) return id;
  }
}

const enable = (hooks: readonly Hook[], id: string, enabled: boolean) =>
  hooks.map((it) => (it.hook === id ? { ...it, enabled } : it));

function iterationStarted(_context: TaskContext, { data }: On<'iteration.started'>): Partial<TaskContext> {
  const { iteration, maxIterations, completionPromises, rules, breakers } = data;
  return {
    iteration: {
      ...{ iteration, maxIterations, completed: false, failures: 0, failed: false },
      completionPromises: completionPromises ?? null,
      rules: rules ?? null,
      failuresMax: breakers?.failures ?? null,
    },
  };
}

function iterationAdvanced({ iteration }: TaskContext): Partial<TaskContext> {
  if (iteration === null) return {};
  const failures = iteration.failed ? iteration.failures + 1 : 0;
  return { iteration: { ...iteration, iteration: iteration.iteration + 1, failures, failed: false } };
}

function iterationJudged({ iteration }: TaskContext, { failed }: On<'iteration.judged'>): Partial<TaskContext> {
  return iteration === null ? {} : { iteration: { ...iteration, failed } };
}

function evaluationPending(
  { evaluations }: TaskContext,
  { evaluation }: On<'evaluation.pending'>,
): Partial<TaskContext> {
  return { evaluations: [...evaluations.filter((it) => it.attempt !== evaluation.attempt), evaluation] };
}

function checkpointSaved(context: TaskContext, { data, at }: On<'checkpoint.saved'>): Partial<TaskContext> {
  const { checkpoint, phase = null, step = null, context: saved = null } = data;
  return {
    checkpoints: [...context.checkpoints, { checkpoint, at, phase, step, context: saved }].slice(-checkpointsMax),
  };
}

function hooksEvaluated({ hookStats }: TaskContext, event: On<'hooks.evaluated'>): Partial<TaskContext> {
  const stats = new Map(hookStats.map((it) => [it.hook, it]));
  for (const run of event.runs) stats.set(run.hook, counted(stats.get(run.hook), run, event));
  return { hookStats: [...stats.values()].slice(-hookStatsMax) };
}

const uncounted = { asked: 0, complete: 0, continue: 0, escalate: 0, skip: 0, errors: 0, tookMs: 0 } as const;

function counted(
  before: HookStats | undefined,
  { hook, type, action, reason, failed, tookMs }: HookRun,
  { attempt, at }: On<'hooks.evaluated'>,
): HookStats {
  const known = before ?? uncounted;
  return {
    ...known,
    hook,
    type,
    asked: known.asked + 1,
    [action]: known[action] + 1,
    errors: known.errors + (failed ? 1 : 0),
    tookMs: known.tookMs + tookMs,
    last: { at, attempt, action, reason: reason.slice(0, reasonLengthMax) },
  };
}

/** The phase is the last checkpoint's that named one. */
export const phaseOf = (context: TaskContext): string | null =>
  context.checkpoints.findLast((it) => it.phase !== null)?.phase ?? null;

/** Some rule that counts in this iteration failed. */
export const hasFailedRule = (iteration: Iteration | null, { validation }: Evaluation['fields']): boolean =>
  validation?.some((it) => !it.passed && (iteration?.rules?.includes(it.rule) ?? true)) ?? false;

const ends = {
  'task.completed': { target: 'stopped', actions: 'complete' },
  'task.failed': { target: 'escalated', actions: 'escalate' },
  'task.released': { target: 'idle', actions: 'free' },
  'task.cancelled': { target: 'stopped', actions: 'cancel' },
} as const;
const disposition = ({ event }: { event: TaskEvent }) => ({
  disposition: (event as On<'attempt.closed'>).disposition,
});

export const taskMachine = setup({
  types: {} as { context: TaskContext; events: TaskEvent; input: TaskInput },
  guards: {
    isCompleted: (_, { disposition }: { disposition: TaskDisposition }) => disposition === 'completed',
    isBlocked: (_, { disposition }: { disposition: TaskDisposition }) => disposition === 'blocked',
    isEscalated: (_, { disposition }: { disposition: TaskDisposition }) => disposition === 'escalated',
    isReleased: (_, { disposition }: { disposition: TaskDisposition }) => disposition === 'released',
    resumes: ({ event }) => (event as On<'escalation.resolved'>).verdict === 'resume',
  },
  actions: {
    create: assign(({ context, event }) => created(context, event as On<'task.created'>)),
    hold: assign(({ event }) => ({ worker: (event as On<'task.claimed'>).worker, escalation: null })),
    free: assign({ worker: null }),
    complete: assign({ worker: null, outcome: 'completed', hooks: empty }),
    cancel: assign({ worker: null, outcome: 'cancelled', hooks: empty, escalation: null }),
    escalate: assign(({ event }) => ({
      worker: null,
      escalation: (event as On<'task.failed' | 'attempt.closed'>).escalation,
    })),
    acknowledge: assign(({ context, event }) => {
      const { by, at } = event as On<'escalation.acknowledged'>;
      return { escalation: acknowledge(context.escalation, by, at) };
    }),
    noteNotice: assign(({ context, event }) => ({
      escalation: noteNotice(context.escalation, (event as On<'escalation.notified'>).at),
    })),
    resume: assign({ escalation: null }),
    registerHook: assign(({ context, event }) => hookRegistered(context, event as On<'hook.registered'>)),
    enableHook: assign(({ context, event }) => ({
      hooks: enable(context.hooks, (event as On<'hook.enabled'>).data.hook, true),
    })),
    disableHook: assign(({ context, event }) => ({
      hooks: enable(context.hooks, (event as On<'hook.disabled'>).data.hook, false),
    })),
    clearHooks: assign({ hooks: empty }),
    startIteration: assign(({ context, event }) => iterationStarted(context, event as On<'iteration.started'>)),
    advanceIteration: assign(({ context }) => iterationAdvanced(context)),
    judgeIteration: assign(({ context, event }) => iterationJudged(context, event as On<'iteration.judged'>)),
    completeIteration: assign(({ context }) => ({
      hooks: empty,
      iteration: context.iteration === null ? null : { ...context.iteration, completed: true },
    })),
    notePending: assign(({ context, event }) => evaluationPending(context, event as On<'evaluation.pending'>)),
    endEvaluation: assign(({ context, event }) => ({
      evaluations: context.evaluations.filter((it) => it.attempt !== (event as On<'evaluation.ended'>).attempt),
    })),
    countHookRuns: assign(({ context, event }) => hooksEvaluated(context, event as On<'hooks.evaluated'>)),
    saveCheckpoint: assign(({ context, event }) => checkpointSaved(context, event as On<'checkpoint.saved'>)),
    noteRefusal: assign(({ context, event }) => ({
      refused: [...context.refused, (event as On<'entry.refused'>).refused].slice(-refusedMax),
    })),
  },
}).createMachine({
  id: 'task-v1',
  context: ({ input: { task, queue } }) => ({
    ...{ task, queue, title: null, plan: null, policy: null, after: empty, worker: null, outcome: null },
    ...{ hooks: empty, hookStats: empty, iteration: null, checkpoints: empty, evaluations: empty, refused: empty },
    escalation: null,
  }),
  initial: 'idle',
  on: {
    'task.created': { actions: 'create' },
    'hook.registered': { actions: 'registerHook' },
    'hook.enabled': { actions: 'enableHook' },
    'hook.disabled': { actions: 'disableHook' },
    'hooks.cleared': { actions: 'clearHooks' },
    'iteration.started': { actions: 'startIteration' },
    'iteration.advanced': { actions: 'advanceIteration' },
    'iteration.judged': { actions: 'judgeIteration' },
    'iteration.completed': { actions: 'completeIteration' },
    'evaluation.pending': { actions: 'notePending' },
    'evaluation.ended': { actions: 'endEvaluation' },
    'hooks.evaluated': { actions: 'countHookRuns' },
    'checkpoint.saved': { actions: 'saveCheckpoint' },
    'entry.refused': { actions: 'noteRefusal' },
  },
  states: {
    idle: {
      on: {
        'task.claimed': { target: 'working', actions: 'hold' },
        'task.cancelled': ends['task.cancelled'],
      },
    },
    working: { on: { ...ends, 'attempt.opened': { target: 'validating' } } },
    validating: {
      on: {
        ...ends,
        'attempt.closed': [
          { guard: { type: 'isCompleted', params: disposition }, target: 'stopped', actions: 'complete' },
          { guard: { type: 'isBlocked', params: disposition }, target: 'blocked' },
          { guard: { type: 'isEscalated', params: disposition }, target: 'escalated', actions: 'escalate' },
          { guard: { type: 'isReleased', params: disposition }, target: 'idle', actions: 'free' },
          { target: 'working' },
        ],
      },
    },
    blocked: {
      on: { ...ends, 'attempt.opened': { target: 'validating' }, 'work.resumed': { target: 'working' } },
    },
    escalated: {
      on: {
        'task.claimed': { target: 'working', actions: 'hold' },
        'task.cancelled': ends['task.cancelled'],
        'escalation.acknowledged': { actions: 'acknowledge' },
        'escalation.notified': { actions: 'noteNotice' },
        'escalation.resolved': [
          { guard: 'resumes', target: 'idle', actions: 'resume' },
          { target: 'stopped', actions: 'cancel' },
        ],
      },
    },
    stopped: {},
  },
});
