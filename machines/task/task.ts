/**
 * Task: one unit of work, from its creation to its completion (protocol.md §4), with the hooks and iterations that were
 * set on it (protocol.md §7). The fleet checks that an entry makes sense before it is sent here.
 */
import { assign, type SnapshotFrom, setup } from 'xstate';
import { acknowledge, noteNotice } from '../values/escalation.ts';
import type { TaskDisposition } from '../values/task-disposition.ts';
import { addCheckpoint } from './checkpoint.ts';
import { createTaskContext, empty, type TaskContext, type TaskInput } from './context.ts';
import { addEvaluation, removeEvaluation } from './evaluation.ts';
import type { On, TaskEvent } from './events.ts';
import { countHookRuns } from './hook-stats.ts';
import { enableHook, registerHook } from './hooks.ts';
import { advanceIteration, completeIteration, judgeIteration, startIteration } from './iteration.ts';

export type TaskSnapshot = SnapshotFrom<typeof taskMachine>;

const refusedMax = 20;

function createFrom(context: TaskContext, { data }: On<'task.created'>): Partial<TaskContext> {
  const { title, plan, policy, after } = data;
  return {
    queue: data.queue ?? context.queue ?? 'main',
    ...(title === undefined ? {} : { title }),
    ...(plan === undefined ? {} : { plan }),
    ...(policy === undefined ? {} : { policy }),
    ...(after === undefined ? {} : { after }),
  };
}

const ends = {
  'task.completed': { target: 'stopped', actions: 'complete' },
  'task.failed': { target: 'escalated', actions: 'escalate' },
  'stale.escalated': { target: 'escalated', actions: 'escalate' },
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
    create: assign(({ context, event }) => createFrom(context, event as On<'task.created'>)),
    hold: assign(({ event }) => ({ worker: (event as On<'task.claimed'>).worker, escalation: null })),
    free: assign({ worker: null }),
    complete: assign({ worker: null, outcome: 'completed', hooks: empty }),
    cancel: assign({ worker: null, outcome: 'cancelled', hooks: empty, escalation: null }),
    escalate: assign(({ event }) => ({
      worker: null,
      escalation: (event as On<'task.failed' | 'stale.escalated' | 'attempt.closed'>).escalation,
    })),
    acknowledge: assign(({ context, event }) => {
      const { by, at } = event as On<'escalation.acknowledged'>;
      return { escalation: acknowledge(context.escalation, by, at) };
    }),
    noteNotice: assign(({ context, event }) => ({
      escalation: noteNotice(context.escalation, (event as On<'escalation.notified'>).at),
    })),
    resume: assign({ escalation: null }),
    registerHook: assign(({ context, event }) => registerHook(context, event as On<'hook.registered'>)),
    enableHook: assign(({ context, event }) => ({
      hooks: enableHook(context.hooks, (event as On<'hook.enabled'>).data.hook, true),
    })),
    disableHook: assign(({ context, event }) => ({
      hooks: enableHook(context.hooks, (event as On<'hook.disabled'>).data.hook, false),
    })),
    clearHooks: assign({ hooks: empty }),
    startIteration: assign(({ event }) => startIteration(event as On<'iteration.started'>)),
    advanceIteration: assign(({ context }) => advanceIteration(context)),
    judgeIteration: assign(({ context, event }) => judgeIteration(context, event as On<'iteration.judged'>)),
    completeIteration: assign(({ context }) => completeIteration(context)),
    awaitHook: assign(({ context, event }) => ({
      evaluations: addEvaluation(context.evaluations, (event as On<'evaluation.pending'>).evaluation),
    })),
    endEvaluation: assign(({ context, event }) => ({
      evaluations: removeEvaluation(context.evaluations, (event as On<'evaluation.ended'>).attempt),
    })),
    countHookRuns: assign(({ context, event }) => {
      const { runs, attempt, at } = event as On<'hooks.evaluated'>;
      return { hookStats: countHookRuns(context.hookStats, runs, { attempt, at }) };
    }),
    saveCheckpoint: assign(({ context, event }) => {
      const { data, at } = event as On<'checkpoint.saved'>;
      return { checkpoints: addCheckpoint(context.checkpoints, data, at) };
    }),
    noteRefusal: assign(({ context, event }) => ({
      refused: [...context.refused, (event as On<'entry.refused'>).refused].slice(-refusedMax),
    })),
  },
}).createMachine({
  id: 'task-v1',
  context: ({ input }) => createTaskContext(input),
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
    'evaluation.pending': { actions: 'awaitHook' },
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
