/**
 * Worker: one agent session, from its registration to the stop that we allow. The six states and `presence` beside
 * them (protocol.md §4). A stop is judged here, by the named guards, and the answer is read off the snapshot's
 * `lastDecision`. Pure: clocks, ids and the fleet around it arrive with the events.
 */
import { assign, type SnapshotFrom, setup } from 'xstate';
import type { GuardName } from '../guards/names.ts';
import { updateStep } from '../policy/plan.ts';
import { acknowledge, noteNotice } from '../values/escalation.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import type { Presence, State } from '../values/states.ts';
import { answerCheck, closeSession, openAttempt, resumeAttempt, supersedeAttempt } from './attempt.ts';
import {
  beginTurn,
  type Change,
  finishBackground,
  letGoOfTask,
  reachLimit,
  register,
  resolveEscalation,
  startBackground,
  takeTask,
  useTool,
} from './changes.ts';
import { createWorkerContext, empty, type WorkerContext, type WorkerInput } from './context.ts';
import type { On, WorkerEvent } from './events.ts';

export type WorkerSnapshot = SnapshotFrom<typeof workerMachine>;

const refusedMax = 20;

/** Where a decision leads: read by the `always` transitions of `validating`, one for each guard and outcome. */
const decidedBy = (guard: GuardName, context: WorkerContext, state: State): boolean =>
  context.attempt === null &&
  context.lastDecision?.state === state &&
  context.lastDecision.verdicts.at(-1)?.guard === guard;

type Machine = { readonly worker: WorkerContext };

/** An action on the worker's own data. It is one object within the context, for XState copies a context key by key. */
function change<E extends WorkerEvent>(act: (worker: WorkerContext, event: E) => Change) {
  return assign<Machine, WorkerEvent, undefined, WorkerEvent, never>(({ context, event }) => ({
    worker: { ...context.worker, ...act(context.worker, event as E) },
  }));
}

/** The same for what comes by the thousand: all of the data, copied with keys that are known when this is compiled. */
function replace<E extends WorkerEvent>(act: (worker: WorkerContext, event: E) => WorkerContext) {
  return assign<Machine, WorkerEvent, undefined, WorkerEvent, never>(({ context, event }) => ({
    worker: act(context.worker, event as E),
  }));
}

type To = { readonly state: State };
const decides =
  (guard: GuardName) =>
  ({ context }: { context: Machine }, { state }: To) =>
    decidedBy(guard, context.worker, state);
const rule = (guard: GuardName, state: Exclude<State, 'working' | 'validating'>) =>
  ({ guard: { type: guard, params: { state } }, target: state }) as const;

const machine = setup({
  types: {} as { context: Machine; events: WorkerEvent; input: WorkerInput },
  guards: {
    retired: decides('retired'),
    escalated: decides('escalated'),
    bypass: decides('bypass'),
    limited: decides('limited'),
    waiting: decides('waiting'),
    retries: decides('retries'),
    promise: decides('promise'),
    checks: decides('checks'),
    hooks: decides('hooks'),
    stuck: decides('stuck'),
    pending: decides('pending'),
    idle: decides('idle'),
    done: decides('done'),
    inService: ({ context: { worker } }) => worker.ended === null,
    mayReturn: ({ context: { worker } }) => worker.ended !== 'retired',
    holdsNone: ({ context: { worker }, event }) => worker.tasks.every((task) => 'task' in event && task === event.task),
    resumes: (_, { verdict }: { verdict: 'resume' | 'stop' }) => verdict === 'resume',
    nowActive: (_, { presence }: { presence: Presence }) => presence === 'active',
    nowStale: (_, { presence }: { presence: Presence }) => presence === 'stale',
    nowLimited: (_, { presence }: { presence: Presence }) => presence === 'limited',
  },
  actions: {
    register: change((_it, event: On<'worker.registered'>) => register(event)),
    prompt: change((it) => beginTurn(it)),
    useTool: replace((it, event: On<'tool.used'>) => useTool(it, event)),
    setPlan: change((_it, { data }: On<'plan.updated'>) => ({ plan: data.steps })),
    setStep: replace((it, { data }: On<'step.updated'>) => ({ ...it, plan: updateStep(it.plan, data) })),
    takeTask: change((it, event: On<'task.taken'>) => takeTask(it, event)),
    letGo: change((it, event: On<'task.lost'>) => letGoOfTask(it, event)),
    startBackground: change((it, event: On<'background.started'>) => startBackground(it, event)),
    finishBackground: change((it, event: On<'background.finished'>) => finishBackground(it, event)),
    awaitInput: change(() => ({ awaitsInput: true })),
    receiveInput: change(() => ({ awaitsInput: false })),
    reachLimit: change((it, event: On<'limit.reached'>) => reachLimit(it, event)),
    clearLimit: change((_it, { data }: On<'limit.cleared'>) => (data.scope === undefined ? { limit: null } : {})),
    exhaustBudget: change(() => ({ budgetExhausted: true })),
    openAttempt: change((it, event: On<'stop.attempted'>) => openAttempt(it, event)),
    answerCheck: change((it, event: On<'check.finished'>) => answerCheck(it, event)),
    resume: change((it, event: On<'attempt.resumed'>) => resumeAttempt(it, event)),
    supersede: change((it, event: On<'attempt.superseded'>) => supersedeAttempt(it, event)),
    close: change((it, event: On<'session.closed'>) => closeSession(it, event)),
    acknowledge: change((it, { by, atMs }: On<'escalation.acknowledged'>) => ({
      escalation: acknowledge(it.escalation, by, formatIsoTime(atMs)),
    })),
    noteNotice: change((it, { atMs }: On<'escalation.notified'>) => ({
      escalation: noteNotice(it.escalation, formatIsoTime(atMs)),
    })),
    resolve: change((_it, event: On<'escalation.resolved'>) => resolveEscalation(event)),
    clearFiles: change(() => ({ files: empty })),
    noteRefusal: change((it, { refused }: On<'entry.refused'>) => ({
      refused: [...it.refused, refused].slice(-refusedMax),
    })),
  },
});

const presence = ({ event }: { event: WorkerEvent }) => ({ presence: (event as On<'presence.changed'>).presence });
const presenceMoves = {
  'presence.changed': [
    { guard: { type: 'nowLimited', params: presence }, target: 'limited' },
    { guard: { type: 'nowStale', params: presence }, target: 'stale' },
    { guard: { type: 'nowActive', params: presence }, target: 'active' },
  ],
} as const;

/** Work leads to `working`; other entries that need no state stand at the root. */
const workMoves = {
  'prompt.submitted': { target: 'working', actions: 'prompt' },
  'tool.used': { target: 'working', actions: 'useTool' },
  'plan.updated': { target: 'working', actions: 'setPlan' },
  'step.updated': { target: 'working', actions: 'setStep' },
  'task.taken': { target: 'working', actions: 'takeTask' },
} as const;
const taskLost = {
  'task.lost': [{ guard: 'holdsNone', target: 'idle', actions: 'letGo' }, { actions: 'letGo' }],
} as const;
const attempted = { 'stop.attempted': { target: 'validating', actions: 'openAttempt' } } as const;
const closed = { 'session.closed': { target: 'stopped', actions: 'close' } } as const;
const registration = { 'worker.registered': { target: 'idle', actions: 'register' } } as const;

export const workerMachine = machine.createMachine({
  id: 'worker-v1',
  context: ({ input }) => ({ worker: createWorkerContext(input) }),
  type: 'parallel',
  on: {
    'heartbeat.sent': {},
    'background.started': { actions: 'startBackground' },
    'background.finished': { actions: 'finishBackground' },
    'input.requested': { actions: 'awaitInput' },
    'input.received': { actions: 'receiveInput' },
    'limit.reached': { actions: 'reachLimit' },
    'limit.cleared': { actions: 'clearLimit' },
    'budget.exhausted': { actions: 'exhaustBudget' },
    'files.cleared': { actions: 'clearFiles' },
    'entry.refused': { actions: 'noteRefusal' },
    // Where no state below handles it, an entry changes the context only.
    'worker.registered': { actions: 'register' },
    'tool.used': { actions: 'useTool' },
    'plan.updated': { actions: 'setPlan' },
    'step.updated': { actions: 'setStep' },
    'task.taken': { actions: 'takeTask' },
    'task.lost': { actions: 'letGo' },
  },
  states: {
    state: {
      initial: 'idle',
      states: {
        idle: { on: { ...workMoves, ...taskLost, ...attempted, ...closed } },
        // Work here changes the context only, by the root.
        working: { on: { 'prompt.submitted': { actions: 'prompt' }, ...taskLost, ...attempted, ...closed } },
        validating: {
          always: [
            rule('retired', 'stopped'),
            rule('escalated', 'escalated'),
            rule('bypass', 'stopped'),
            rule('limited', 'idle'),
            rule('waiting', 'idle'),
            rule('retries', 'stopped'),
            rule('retries', 'escalated'),
            rule('promise', 'escalated'),
            rule('checks', 'blocked'),
            rule('checks', 'escalated'),
            rule('hooks', 'blocked'),
            rule('hooks', 'escalated'),
            rule('stuck', 'escalated'),
            rule('pending', 'blocked'),
            rule('pending', 'stopped'),
            rule('idle', 'blocked'),
            rule('idle', 'stopped'),
            rule('done', 'stopped'),
          ],
          on: {
            ...closed,
            'stop.attempted': { actions: 'openAttempt' },
            'check.finished': { actions: 'answerCheck' },
            'attempt.resumed': { actions: 'resume' },
            'attempt.superseded': { actions: 'supersede' },
            'prompt.submitted': { target: 'working', actions: 'prompt' },
          },
        },
        blocked: { on: { ...workMoves, ...taskLost, ...attempted, ...closed, ...registration } },
        escalated: {
          on: {
            ...attempted,
            ...closed,
            ...registration,
            'prompt.submitted': { target: 'working', actions: 'prompt' },
            'escalation.acknowledged': { actions: 'acknowledge' },
            'escalation.notified': { actions: 'noteNotice' },
            'escalation.resolved': [
              {
                guard: { type: 'resumes', params: ({ event }) => ({ verdict: event.verdict }) },
                target: 'idle',
                actions: 'resolve',
              },
              { target: 'stopped', actions: 'resolve' },
            ],
          },
        },
        stopped: {
          on: {
            ...attempted,
            ...closed,
            ...registration,
            'prompt.submitted': { guard: 'mayReturn', target: 'working', actions: 'prompt' },
            'tool.used': [{ guard: 'inService', target: 'working', actions: 'useTool' }, { actions: 'useTool' }],
            'plan.updated': [{ guard: 'inService', target: 'working', actions: 'setPlan' }, { actions: 'setPlan' }],
            'step.updated': [{ guard: 'inService', target: 'working', actions: 'setStep' }, { actions: 'setStep' }],
            'task.taken': { target: 'working', actions: 'takeTask' },
            'task.lost': taskLost['task.lost'],
          },
        },
      },
    },
    presence: {
      initial: 'active',
      states: {
        active: { on: presenceMoves },
        stale: { on: presenceMoves },
        limited: { on: presenceMoves },
      },
    },
  },
});
