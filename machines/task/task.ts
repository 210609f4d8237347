/**
 * Task: one unit of work, from its creation to its completion (protocol.md §4), with its hooks and iterations
 * (protocol.md §7). The answers of the hooks to an iteration are in the snapshot's `validated`. Pure: clocks and the
 * worker that holds it arrive with the events.
 */
import { assign, setup } from 'xstate';
import { returnSteps } from '../policy/plan.ts';
import type { Stepped } from '../step.ts';
import { acknowledge, escalate, noteNotice, type TaskEscalation } from '../values/escalation.ts';
import type { TaskDisposition } from '../values/states.ts';
import { formatIsoTime } from '../values/time.ts';
import { addUse, grantPeriod, oneTurn, useOf } from '../values/usage.ts';
import { createTaskContext, type On, refusalOf, type TaskContext, type TaskEvent, type TaskInput } from './context.ts';
import { enableHook, registerHook, removeHook, removeHooks } from './hooks.ts';
import { advanceIteration, answerHook, completeIteration, expireHooks, startIteration, validate } from './iteration.ts';
import { addCheckpoint, countHookRuns } from './records.ts';

export type TaskSnapshot = Stepped<typeof taskMachine>;

const refusedMax = 20;

const unheld = { worker: null, request: null } as const;

/** An action on the task's data. */
function change<E extends TaskEvent>(act: (context: TaskContext, event: E) => Partial<TaskContext>) {
  return assign<TaskContext, TaskEvent, undefined, TaskEvent, never>(({ context, event }) => act(context, event as E));
}

function createFrom(context: TaskContext, { data }: On<'task.created'>): Partial<TaskContext> {
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

/** Given up as failed by its worker. */
function escalationOf({ worker }: TaskContext, { data, seq, atMs }: On<'task.failed'>): TaskEscalation {
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

const ends = {
  'task.completed': { target: 'stopped', actions: 'complete' },
  'task.failed': { target: 'escalated', actions: 'fail' },
  'stale.escalated': { target: 'escalated', actions: 'escalate' },
  'task.released': { target: 'idle', actions: 'free' },
  'task.cancelled': { target: 'stopped', actions: 'cancel' },
} as const;
const refused = { actions: 'refuse' } as const;
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
    resumes: ({ event }) => (event as On<'escalation.resolved'>).data.verdict === 'resume',
    isRefused: ({ context, event }) => refusalOf(context, event) !== null,
  },
  actions: {
    create: change(createFrom),
    hold: change((it, { data, facts, atMs }: On<'task.claimed'>) => ({
      worker: facts?.worker ?? null,
      request: data.request ?? null,
      escalation: null,
      usage: { ...it.usage, sinceMs: atMs },
    })),
    addUsage: change((it, { data }: On<'usage.reported'>) => ({ usage: addUse(it.usage, useOf(data)) })),
    countTurn: change((it) => ({ usage: addUse(it.usage, oneTurn) })),
    grantBudget: change((it, { atMs }: On<'budget.granted'>) => ({ usage: grantPeriod(it.usage, atMs) })),
    free: assign(unheld),
    complete: change((it, event) => ({
      ...removeHooks(it, event as On<'task.completed'>),
      ...unheld,
      outcome: 'completed',
    })),
    cancel: change((it, event) => ({
      ...removeHooks(it, event as On<'task.cancelled'>),
      ...unheld,
      outcome: 'cancelled',
      escalation: null,
    })),
    fail: change((it, event: On<'task.failed'>) => ({ escalation: escalationOf(it, event), ...unheld })),
    escalate: change((_it, { escalation }: On<'stale.escalated' | 'attempt.closed'>) => ({ escalation, ...unheld })),
    acknowledge: change((it, { data, atMs }: On<'escalation.acknowledged'>) => ({
      escalation: acknowledge(it.escalation, data.by, formatIsoTime(atMs)),
    })),
    noteNotice: change((it, { atMs }: On<'escalation.notified'>) => ({
      escalation: noteNotice(it.escalation, formatIsoTime(atMs)),
    })),
    resume: change((it, { atMs }: On<'escalation.resolved'>) => ({
      escalation: null,
      usage: it.escalation?.budget === 'task' ? grantPeriod(it.usage, atMs) : it.usage,
    })),
    registerHook: change(registerHook),
    enableHook: change(enableHook),
    removeHook: change(removeHook),
    clearHooks: change((it, event: On<'hooks.cleared'>) => removeHooks(it, event)),
    // A task without a plan got none by being held.
    keepSteps: change((it, { steps }: On<'steps.returned'>) => ({
      plan: it.plan === null && steps.length === 0 ? null : returnSteps(it.plan ?? [], it.task, steps),
    })),
    startIteration: change((_it, event: On<'iteration.started'>) => startIteration(event)),
    advanceIteration: change((it) => advanceIteration(it)),
    completeIteration: change((it, event: On<'iteration.completed'>) => ({
      ...removeHooks(it, event),
      ...completeIteration(it),
    })),
    validate: change(validate),
    answerHook: change(answerHook),
    expireHooks: change(expireHooks),
    countHookRuns: change((it, { runs, attempt, atMs }: On<'hooks.evaluated'>) => ({
      hookStats: countHookRuns(it.hookStats, runs, { attempt, at: formatIsoTime(atMs) }),
    })),
    saveCheckpoint: change((it, { data, atMs }: On<'checkpoint.saved'>) => ({
      checkpoints: addCheckpoint(it.checkpoints, data, formatIsoTime(atMs)),
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
