/**
 * The machine of a task: one unit of work, from creation to completion (protocol.md §4), with its hooks and iterations
 * (protocol.md §7). Results of iterations are in the context's `validated`. Events bring the time and all facts about
 * the worker.
 */
import { assign, setup } from 'xstate';
import { amountsOf } from '../policy/budget.ts';
import { returnSteps } from '../policy/plan.ts';
import type { Stepped } from '../step.ts';
import { acknowledge, escalate, noteNotice, type TaskEscalation } from '../values/escalation.ts';
import type { TaskDisposition } from '../values/states.ts';
import { formatIsoTime, parseIsoTime } from '../values/time.ts';
import { addToPeriod, grantPeriod, oneTurn, useOf } from '../values/usage.ts';
import { createTaskContext, type TaskContext, type TaskInput } from './context.ts';
import type { TaskEvent, TaskEventOf } from './events.ts';
import { enableHook, registerHook, removeHook, removeHooks } from './hooks.ts';
import { advanceIteration, answerHook, completeIteration, expireHooks, startIteration, validate } from './iteration.ts';
import { addCheckpoint, countHookRuns } from './records.ts';
import { refusalOf } from './refusals.ts';

export type TaskSnapshot = Stepped<typeof taskMachine>;

const refusedMax = 20;

const unheld = { worker: null, request: null } as const;

/** Wraps a function that returns the changed fields. */
function change<E extends TaskEvent>(act: (context: TaskContext, event: E) => Partial<TaskContext>) {
  return assign<TaskContext, TaskEvent, undefined, TaskEvent, never>(({ context, event }) => act(context, event as E));
}

function createFrom(context: TaskContext, { data }: TaskEventOf<'task.created'>): Partial<TaskContext> {
  const { title, plan, policy, after, priority } = data;
  return {
    queue: data.queue ?? context.queue ?? 'main',
    ...(title === undefined ? {} : { title }),
    ...(plan === undefined ? {} : { plan }),
    ...(policy === undefined ? {} : { policy }),
    ...(after === undefined ? {} : { after }),
    ...(priority === undefined ? {} : { priority }),
  };
}

/** Returns the escalation of a task that its worker gave up as failed. */
function escalationOf({ worker }: TaskContext, { data, seq, atMs }: TaskEventOf<'task.failed'>): TaskEscalation {
  const reason = data.reason ?? `${worker === null ? 'Its worker' : `Worker ${worker}`} gave it up as failed`;
  const since = formatIsoTime(atMs);
  return {
    ...escalate({ seq, since, reason, cause: 'failed', attempt: null, worker: worker ?? '' }),
    withWorker: false,
  };
}

function refuse(context: TaskContext, event: TaskEvent): Partial<TaskContext> {
  const refused =
    event.type === 'entry.refused'
      ? event.refused
      : { at: formatIsoTime(event.atMs), seq: event.seq, type: event.type, reason: refusalOf(context, event) ?? '' };
  return { refused: [...context.refused, refused].slice(-refusedMax) };
}

const grantAgain = (
  { usage, escalation }: TaskContext,
  { data, atMs }: TaskEventOf<'budget.granted' | 'escalation.resolved'>,
) => grantPeriod(usage, amountsOf(data.grant), { atMs, escalatedMs: parseIsoTime(escalation?.since ?? '') ?? 0 });

const ends = {
  'task.completed': { target: 'stopped', actions: 'complete' },
  'task.failed': { target: 'escalated', actions: 'fail' },
  'stale.escalated': { target: 'escalated', actions: 'escalate' },
  'task.released': { target: 'idle', actions: 'free' },
  'task.cancelled': { target: 'stopped', actions: 'cancel' },
} as const;
const refused = { actions: 'refuse' } as const;
const disposition = ({ event }: { event: TaskEvent }) => ({
  disposition: (event as TaskEventOf<'attempt.closed'>).disposition,
});

export const taskMachine = setup({
  types: {} as { context: TaskContext; events: TaskEvent; input: TaskInput },
  guards: {
    isCompleted: (_, { disposition }: { disposition: TaskDisposition }) => disposition === 'completed',
    isBlocked: (_, { disposition }: { disposition: TaskDisposition }) => disposition === 'blocked',
    isEscalated: (_, { disposition }: { disposition: TaskDisposition }) => disposition === 'escalated',
    isReleased: (_, { disposition }: { disposition: TaskDisposition }) => disposition === 'released',
    resumes: ({ event }) => (event as TaskEventOf<'escalation.resolved'>).data.verdict === 'resume',
    isRefused: ({ context, event }) => refusalOf(context, event) !== null,
  },
  actions: {
    create: change(createFrom),
    hold: change((task, { data, facts, atMs }: TaskEventOf<'task.claimed'>) => ({
      worker: facts?.worker ?? null,
      request: data.request ?? null,
      escalation: null,
      usage: { ...task.usage, sinceMs: atMs },
    })),
    addUsage: change((task, { data }: TaskEventOf<'usage.reported'>) => ({
      usage: addToPeriod(task.usage, useOf(data)),
    })),
    countTurn: change((task) => ({ usage: addToPeriod(task.usage, oneTurn) })),
    grantBudget: change((task, event: TaskEventOf<'budget.granted'>) => ({ usage: grantAgain(task, event) })),
    free: assign(unheld),
    complete: change((task, event) => ({
      ...removeHooks(task, event as TaskEventOf<'task.completed'>),
      ...unheld,
      outcome: 'completed',
    })),
    cancel: change((task, event) => ({
      ...removeHooks(task, event as TaskEventOf<'task.cancelled'>),
      ...unheld,
      outcome: 'cancelled',
      escalation: null,
    })),
    fail: change((task, event: TaskEventOf<'task.failed'>) => ({ escalation: escalationOf(task, event), ...unheld })),
    escalate: change((_task, { escalation }: TaskEventOf<'stale.escalated' | 'attempt.closed'>) => ({
      escalation,
      ...unheld,
    })),
    acknowledge: change((task, { data, atMs }: TaskEventOf<'escalation.acknowledged'>) => ({
      escalation: acknowledge(task.escalation, data.by, formatIsoTime(atMs)),
    })),
    noteNotice: change((task, { atMs }: TaskEventOf<'escalation.notified'>) => ({
      escalation: noteNotice(task.escalation, formatIsoTime(atMs)),
    })),
    resume: change((task, event: TaskEventOf<'escalation.resolved'>) => ({
      escalation: null,
      usage: task.escalation?.budget === 'task' ? grantAgain(task, event) : task.usage,
    })),
    registerHook: change(registerHook),
    enableHook: change(enableHook),
    removeHook: change(removeHook),
    clearHooks: change((task, event: TaskEventOf<'hooks.cleared'>) => removeHooks(task, event)),
    // Being held does not give a plan to a task without one.
    keepSteps: change((task, { steps }: TaskEventOf<'steps.returned'>) => ({
      plan: task.plan === null && steps.length === 0 ? null : returnSteps(task.plan ?? [], task.task, steps),
    })),
    startIteration: change((_task, event: TaskEventOf<'iteration.started'>) => startIteration(event)),
    advanceIteration: change((task) => advanceIteration(task)),
    completeIteration: change((task, event: TaskEventOf<'iteration.completed'>) => ({
      ...removeHooks(task, event),
      ...completeIteration(task),
    })),
    validate: change(validate),
    answerHook: change(answerHook),
    expireHooks: change(expireHooks),
    countHookRuns: change((task, { runs, attempt, atMs }: TaskEventOf<'hooks.evaluated'>) => ({
      hookStats: countHookRuns(task.hookStats, runs, { attempt, at: formatIsoTime(atMs) }),
    })),
    saveCheckpoint: change((task, { data, atMs }: TaskEventOf<'checkpoint.saved'>) => ({
      checkpoints: addCheckpoint(task.checkpoints, data, formatIsoTime(atMs)),
    })),
    refuse: change(refuse),
  },
}).createMachine({
  id: 'task-v1',
  context: ({ input }) => createTaskContext(input),
  initial: 'idle',
  on: {
    'task.created': { actions: 'create' },
    'hook.registered': [{ guard: 'isRefused', ...refused }, { actions: 'registerHook' }],
    'hook.enabled': [{ guard: 'isRefused', ...refused }, { actions: 'enableHook' }],
    'hook.disabled': [{ guard: 'isRefused', ...refused }, { actions: 'enableHook' }],
    'hook.unregistered': [{ guard: 'isRefused', ...refused }, { actions: 'removeHook' }],
    'hooks.cleared': { actions: 'clearHooks' },
    'steps.returned': { actions: 'keepSteps' },
    'iteration.started': { actions: 'startIteration' },
    'iteration.advanced': [{ guard: 'isRefused', ...refused }, { actions: 'advanceIteration' }],
    'iteration.validated': [{ guard: 'isRefused', ...refused }, { actions: 'validate' }],
    'iteration.completed': [{ guard: 'isRefused', ...refused }, { actions: 'completeIteration' }],
    'check.finished': { actions: 'answerHook' },
    'timer.fired': { actions: 'expireHooks' },
    'hooks.evaluated': { actions: 'countHookRuns' },
    'checkpoint.saved': { actions: 'saveCheckpoint' },
    'entry.refused': refused,
    'usage.reported': { actions: 'addUsage' },
    'stop.attempted': { actions: 'countTurn' },
    'budget.granted': { actions: 'grantBudget' },
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
    stopped: { on: { 'task.cancelled': refused } },
  },
});
