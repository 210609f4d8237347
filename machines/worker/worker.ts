/**
 * Worker: one agent session, from its registration to the stop that is allowed. It has the six states and, beside them,
 * `presence` (protocol.md §4). The named guards judge a stop here, and the answer is in the snapshot's `lastDecision`.
 * Pure: clocks, ids and the fleet around it arrive with the events.
 */
import { assign, setup } from 'xstate';
import { type FailureGuard, type GuardName, guardNames, type WorkGuard } from '../guards/decision.ts';
import { type Evaluation, evaluate, isUnfinished, leadsInsteadTo, leadsTo, mustWait } from '../guards/evaluate.ts';
import type { StopOutcome } from '../guards/outcome.ts';
import { replaceOwnSteps, updateStep } from '../policy/plan.ts';
import type { Stepped } from '../step.ts';
import { acknowledge, noteNotice } from '../values/escalation.ts';
import type { Presence } from '../values/states.ts';
import { formatIsoTime } from '../values/time.ts';
import {
  answerCheck,
  closeSession,
  type DecidingRow,
  decideBy,
  decideNothing,
  isAboutPending,
  isWaiting,
  judgedIn,
  openAttempt,
  reevaluate,
  startCheck,
  supersedeAttempt,
  wait,
} from './attempt.ts';
import {
  acknowledgeInputs,
  addUsage,
  answerInput,
  beginTurn,
  type Change,
  changeMode,
  changesMode,
  escalateStale,
  finishBackground,
  isByPerson,
  letGoOfTask,
  mayPause,
  noteOverdue,
  noticeInput,
  pauseWorker,
  planTask,
  reachLimit,
  receiveInput,
  register,
  requestInput,
  resolveEscalation,
  startBackground,
  startCall,
  takeTask,
  useTool,
} from './changes.ts';
import { changeContext, createWorkerContext, noFiles, type WorkerContext, type WorkerInput } from './context.ts';
import type { On, Surroundings, WorkerEvent } from './events.ts';
import { judging } from './judging.ts';

export type WorkerSnapshot = Stepped<typeof workerMachine>;

const refusedMax = 20;

/**
 * `evaluation`: the results of the guards for the open attempt, from `judge` up to the next change of the worker; never
 * in a snapshot at rest.
 */
type Machine = { readonly worker: WorkerContext; readonly evaluation?: Evaluation | undefined };

/** An action on the worker's own data. It is one object within the context, for XState copies a context key by key. */
function change<E extends WorkerEvent>(act: (worker: WorkerContext, event: E) => Change) {
  return assign<Machine, WorkerEvent, undefined, WorkerEvent, never>(({ context, event }) => ({
    worker: changeContext(context.worker, act(context.worker, event as E)),
    evaluation: undefined,
  }));
}

/** An action with parameters that reads the results of the guards instead of the event. */
function changeBy<Params extends object>(
  act: (params: Params, worker: WorkerContext, evaluation: Evaluation | undefined) => Change,
) {
  return assign<Machine, WorkerEvent, Params, WorkerEvent, never>(({ context }, params) => ({
    worker: changeContext(context.worker, act(params, context.worker, context.evaluation)),
    evaluation: undefined,
  }));
}

/** Evaluates the guards, or those after the one that a provided guard has overruled. */
const judge = assign<Machine, WorkerEvent, undefined, WorkerEvent, never>(({ context, event }) => {
  const { worker, evaluation } = context;
  const judged = judgedIn(worker);
  const { showsInputs = false } = ('facts' in event ? (event.facts as Surroundings | undefined) : undefined) ?? {};
  return { worker, evaluation: judged === null ? undefined : evaluate(judged, showsInputs, evaluation) };
});

/** `context` as the guards of the chart read it. */
type Given = { readonly context: Machine };
type ToState = { readonly to: StopOutcome };
type Instead = ToState & { readonly by: WorkGuard };

/** The guards of protocol.md §5 by their names: each tells whether it decides, and for this state. */
const decidingGuards = Object.fromEntries(
  guardNames.map((guard) => [
    guard,
    ({ context: { evaluation } }: Given, { to, by }: ToState & Partial<Instead>) =>
      evaluation !== undefined &&
      (by === undefined ? leadsTo(evaluation, guard, to) : leadsInsteadTo(evaluation, by, guard, to)),
  ]),
) as Record<Exclude<GuardName, FailureGuard>, (given: Given, params: ToState) => boolean> &
  Record<FailureGuard, (given: Given, params: Instead) => boolean>;

/** Holds for an attempt id that comes again, as far as the worker knows; the fleet knows more of them. */
const isRepeat = ({ attempt, lastDecision }: WorkerContext, { data, seq }: On<'stop.attempted'>): boolean => {
  const id = data.attempt ?? `seq-${seq}`;
  return attempt?.attempt === id || (attempt === null && lastDecision?.attempt === id);
};
const taskOf = (event: WorkerEvent): string => (event as On<'task.released'>).data.task;

const machine = setup({
  types: {} as { context: Machine; events: WorkerEvent; input: WorkerInput },
  guards: {
    ...decidingGuards,
    waits: ({ context }: Given) => isWaiting(context.worker),
    isUnjudged: ({ context: { worker, evaluation } }: Given) => worker.attempt !== null && evaluation === undefined,
    mustWait: ({ context: { evaluation } }: Given, { guard }: { guard: GuardName }) =>
      evaluation !== undefined && mustWait(evaluation, guard),
    isPassedOver: ({ context: { evaluation } }: Given) => evaluation !== undefined && isUnfinished(evaluation),
    isRepeat: ({ context: { worker }, event }) => isRepeat(worker, event as On<'stop.attempted'>),
    isAboutPending: ({ context: { worker }, event }) => isAboutPending(worker, event as On<'check.finished'>),
    inService: ({ context: { worker } }) => worker.ended === null,
    mayReturn: ({ context: { worker } }) => worker.ended !== 'retired',
    changesMode: ({ context: { worker }, event }) => changesMode(worker, (event as On<'heartbeat.sent'>).data),
    mayPause: ({ event }) => mayPause(event as On<'worker.paused'>),
    isByPerson: ({ event }) => isByPerson((event as On<'prompt.submitted'>).data),
    isReturnByPerson: ({ context: { worker }, event }) =>
      worker.ended !== 'retired' && isByPerson((event as On<'prompt.submitted'>).data),
    holdsNotIt: ({ context: { worker }, event }) => !worker.tasks.includes(taskOf(event)),
    holdsNoOther: ({ context: { worker }, event }) => worker.tasks.every((task) => task === taskOf(event)),
    resumes: (_, { verdict }: { verdict: 'resume' | 'stop' }) => verdict === 'resume',
    nowActive: (_, { presence }: { presence: Presence }) => presence === 'active',
    nowStale: (_, { presence }: { presence: Presence }) => presence === 'stale',
    nowLimited: (_, { presence }: { presence: Presence }) => presence === 'limited',
  },
  actions: {
    setMode: change((it, { data }: On<'heartbeat.sent'>) => changeMode(it, data)),
    move: change((_it, { data }: On<'worker.moved'>) => ({ cwd: data.cwd })),
    pause: change((_it, event: On<'worker.paused'>) => pauseWorker(event)),
    unpause: change(() => ({ pause: null })),
    resumeSession: change(() => ({ ended: null })),
    register: change((it, event: On<'worker.registered'>) => register(it, event)),
    prompt: change((it, event: On<'prompt.submitted'>) => beginTurn(it, event)),
    startCall: change((it, event: On<'tool.started'>) => ({ calls: startCall(it.calls, event) })),
    useTool: change((it, event: On<'tool.used'>) => useTool(it, event)),
    setPlan: change((it, { data }: On<'plan.updated'>) => ({ plan: replaceOwnSteps(it.plan, data.steps) })),
    setStep: change((it, { data }: On<'step.updated'>) => ({ plan: updateStep(it.plan, data) })),
    takeTask: change((it, event: On<'task.claimed'>) => takeTask(it, event)),
    planTask: change((it, event: On<'task.planned'>) => planTask(it, event)),
    letGo: change((it, event: On<'task.lost' | 'task.failed'>) => letGoOfTask(it, event)),
    startBackground: change((it, event: On<'background.started'>) => startBackground(it, event)),
    finishBackground: change((it, event: On<'background.finished'>) => finishBackground(it, event)),
    requestInput: change((it, event: On<'input.requested'>) => requestInput(it, event)),
    receiveInput: change((it, event: On<'input.received'>) => receiveInput(it, event)),
    answerInput: change((it, event: On<'input.answered'>) => answerInput(it, event)),
    noteOverdue: change((it, event: On<'input.overdue'>) => noteOverdue(it, event)),
    noticeInput: change((it, event: On<'input.noticed'>) => noticeInput(it, event)),
    acknowledgeInputs: change((it, event: On<'input.acknowledged'>) => acknowledgeInputs(it, event)),
    reachLimit: change((it, event: On<'limit.reached'>) => reachLimit(it, event)),
    clearLimit: change((_it, { data }: On<'limit.cleared'>) => (data.scope === undefined ? { limit: null } : {})),
    exhaustBudget: change(() => ({ budgetExhausted: true })),
    addUsage: change((it, event: On<'usage.reported'>) => addUsage(it, event)),
    openAttempt: change((it, event: On<'stop.attempted'>) => openAttempt(it, event)),
    startCheck: change((it, event: On<'check.started'>) => startCheck(it, event)),
    answerCheck: change((it, event: On<'check.finished'>) => answerCheck(it, event)),
    reevaluate: change((it, event: On<'timer.fired'>) => reevaluate(it, event)),
    supersede: change((it, event: On<'attempt.superseded'>) => supersedeAttempt(it, event)),
    close: change((it, event: On<'session.ended'>) => closeSession(it, event)),
    judge,
    decide: changeBy((row: DecidingRow, it, evaluation) => decideBy(it, evaluation, row)),
    wait: changeBy(({ guard }: { guard: GuardName }, it, evaluation) => wait(it, evaluation, guard)),
    decideNothing: change((it) => decideNothing(it)),
    acknowledge: change((it, { data, atMs }: On<'escalation.acknowledged'>) => ({
      escalation: acknowledge(it.escalation, data.by, formatIsoTime(atMs)),
    })),
    noteNotice: change((it, { atMs }: On<'escalation.notified'>) => ({
      escalation: noteNotice(it.escalation, formatIsoTime(atMs)),
    })),
    resolve: change((it, event: On<'escalation.resolved'>) => resolveEscalation(it, event)),
    escalateStale: change((it, event: On<'stale.escalated'>) => escalateStale(it, event)),
    clearFiles: change(() => noFiles),
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
  'prompt.submitted': [{ guard: 'isByPerson', target: 'working', actions: 'prompt' }, { target: 'working' }],
  'tool.started': { target: 'working', actions: 'startCall' },
  'tool.used': { target: 'working', actions: 'useTool' },
  'plan.updated': { target: 'working', actions: 'setPlan' },
  'step.updated': { target: 'working', actions: 'setStep' },
  'task.claimed': { target: 'working', actions: 'takeTask' },
} as const;
const letGo = [
  { guard: 'holdsNotIt' },
  { guard: 'holdsNoOther', target: 'idle', actions: 'letGo' },
  { actions: 'letGo' },
] as const;
const letGoOnly = [{ guard: 'holdsNotIt' }, { actions: 'letGo' }] as const;
const lettingGo = {
  'task.completed': letGo,
  'task.failed': letGo,
  'task.released': letGo,
  'task.lost': letGo,
} as const;
const attempted = {
  'stop.attempted': [{ guard: 'isRepeat' }, { target: 'validating', actions: 'openAttempt' }],
} as const;
const close = { target: 'stopped', actions: 'close' } as const;
const closed = { 'session.ended': close, 'worker.retired': close } as const;
/** Staleness has no transition in `validating`: while an attempt is open the worker waits for us. */
const stale = { 'stale.escalated': { target: 'escalated', actions: 'escalateStale' } } as const;
const registration = { 'worker.registered': { target: 'idle', actions: 'register' } } as const;

export const workerMachine = machine.createMachine({
  id: 'worker-v1',
  context: ({ input }) => ({ worker: createWorkerContext(input), evaluation: undefined }),
  type: 'parallel',
  on: {
    'heartbeat.sent': { guard: 'changesMode', actions: 'setMode' },
    'worker.moved': { actions: 'move' },
    'worker.paused': { guard: 'mayPause', actions: 'pause' },
    'worker.unpaused': { actions: 'unpause' },
    'background.started': { actions: 'startBackground' },
    'background.finished': { actions: 'finishBackground' },
    'input.requested': { actions: 'requestInput' },
    'input.received': { actions: 'receiveInput' },
    'input.answered': { actions: 'answerInput' },
    'input.overdue': { actions: 'noteOverdue' },
    'input.noticed': { actions: 'noticeInput' },
    'input.acknowledged': { actions: 'acknowledgeInputs' },
    'limit.reached': { actions: 'reachLimit' },
    'limit.cleared': { actions: 'clearLimit' },
    'budget.exhausted': { actions: 'exhaustBudget' },
    'usage.reported': { actions: 'addUsage' },
    'files.cleared': { actions: 'clearFiles' },
    'entry.refused': { actions: 'noteRefusal' },
    // Where no state below handles it, an entry changes the context only.
    'worker.registered': { actions: 'register' },
    'tool.started': { actions: 'startCall' },
    'tool.used': { actions: 'useTool' },
    'plan.updated': { actions: 'setPlan' },
    'step.updated': { actions: 'setStep' },
    'task.claimed': { actions: 'takeTask' },
    'task.planned': { actions: 'planTask' },
    'task.completed': letGoOnly,
    'task.failed': letGoOnly,
    'task.released': letGoOnly,
    'task.lost': letGoOnly,
  },
  states: {
    state: {
      initial: 'idle',
      states: {
        idle: { on: { ...workMoves, ...lettingGo, ...attempted, ...closed, ...stale } },
        // Work here changes the context only, by the root.
        working: {
          on: {
            'prompt.submitted': { guard: 'isByPerson', actions: 'prompt' },
            ...lettingGo,
            ...attempted,
            ...closed,
            ...stale,
          },
        },
        validating: {
          always: judging,
          on: {
            ...closed,
            'stop.attempted': [{ guard: 'isRepeat' }, { actions: ['supersede', 'openAttempt'] }],
            'check.started': { guard: 'isAboutPending', actions: 'startCheck' },
            'check.finished': { guard: 'isAboutPending', actions: 'answerCheck' },
            'timer.fired': { actions: 'reevaluate' },
            'attempt.superseded': { target: 'working', actions: 'supersede' },
            // Another agent or the system ends no attempt.
            'prompt.submitted': { guard: 'isByPerson', target: 'working', actions: ['supersede', 'prompt'] },
          },
        },
        blocked: { on: { ...workMoves, ...lettingGo, ...attempted, ...closed, ...registration, ...stale } },
        escalated: {
          on: {
            ...attempted,
            ...closed,
            ...registration,
            'prompt.submitted': { guard: 'isByPerson', target: 'working', actions: 'prompt' },
            'stale.escalated': { actions: 'escalateStale' },
            'escalation.acknowledged': { actions: 'acknowledge' },
            'escalation.notified': { actions: 'noteNotice' },
            'escalation.resolved': [
              {
                guard: { type: 'resumes', params: ({ event }) => ({ verdict: event.data.verdict }) },
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
            'prompt.submitted': [
              { guard: 'isReturnByPerson', target: 'working', actions: 'prompt' },
              { guard: 'isByPerson', actions: 'prompt' },
              // One whose session has ended is back, with its counts.
              { guard: 'mayReturn', target: 'working', actions: 'resumeSession' },
            ],
            'tool.started': [{ guard: 'inService', target: 'working', actions: 'startCall' }, { actions: 'startCall' }],
            'tool.used': [{ guard: 'inService', target: 'working', actions: 'useTool' }, { actions: 'useTool' }],
            'plan.updated': [{ guard: 'inService', target: 'working', actions: 'setPlan' }, { actions: 'setPlan' }],
            'step.updated': [{ guard: 'inService', target: 'working', actions: 'setStep' }, { actions: 'setStep' }],
            // One that is out of service takes no task: no action, so that the root does not act either.
            'task.claimed': [{ guard: 'inService', target: 'working', actions: 'takeTask' }, {}],
            ...lettingGo,
            ...stale,
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
