/**
 * The machine of a worker: one agent session, from its registration to the stop that is allowed. It has a region of six
 * states and a region `presence` (protocol.md §4). Stops are judged in state `validating`; the answer is the context's
 * `lastDecision`. Events bring the time and all facts about the fleet.
 */
import { assign, setup } from 'xstate';
import { type FailureGuard, type GuardName, guardNames, type WorkGuard } from '../guards/decision.ts';
import { evaluate, type GuardEvaluation, isUnfinished, leadsInsteadTo, leadsTo, mustWait } from '../guards/evaluate.ts';
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
  addUsage,
  beginTurn,
  type Change,
  changeMode,
  changesMode,
  escalateStale,
  finishBackground,
  isByPerson,
  mayPause,
  pauseWorker,
  planTask,
  reachLimit,
  register,
  releaseTask,
  resolveEscalation,
  startBackground,
  startCall,
  takeTask,
  useTool,
} from './changes.ts';
import { changeContext, createWorkerContext, noFiles, type WorkerContext, type WorkerInput } from './context.ts';
import type { Surroundings, WorkerEvent, WorkerEventOf } from './events.ts';
import { acknowledgeInputs, answerInput, noteOverdue, noticeInput, receiveInput, requestInput } from './inputs.ts';
import { judging } from './judging.ts';

export type WorkerSnapshot = Stepped<typeof workerMachine>;

const refusedMax = 20;

/**
 * `evaluation`: the guards' results for the open attempt. Only set within a step, between `judge` and the next change
 * of the worker.
 */
type Machine = { readonly worker: WorkerContext; readonly evaluation?: GuardEvaluation | undefined };

/** Wraps a function that returns the changed fields. They are nested in `worker`: XState copies contexts key by key. */
function change<E extends WorkerEvent>(act: (worker: WorkerContext, event: E) => Change) {
  return assign<Machine, WorkerEvent, undefined, WorkerEvent, never>(({ context, event }) => ({
    worker: changeContext(context.worker, act(context.worker, event as E)),
    evaluation: undefined,
  }));
}

/** Like `change`, for actions that read parameters and the guards' results instead of the event. */
function changeBy<Params extends object>(
  act: (params: Params, worker: WorkerContext, evaluation: GuardEvaluation | undefined) => Change,
) {
  return assign<Machine, WorkerEvent, Params, WorkerEvent, never>(({ context }, params) => ({
    worker: changeContext(context.worker, act(params, context.worker, context.evaluation)),
    evaluation: undefined,
  }));
}

/** Evaluates the guards, or the remaining ones after a provided guard overruled the last. */
const judge = assign<Machine, WorkerEvent, undefined, WorkerEvent, never>(({ context, event }) => {
  const { worker, evaluation } = context;
  const judged = judgedIn(worker);
  const { showsInputs = false } = ('facts' in event ? (event.facts as Surroundings | undefined) : undefined) ?? {};
  return { worker, evaluation: judged === null ? undefined : evaluate(judged, showsInputs, evaluation) };
});

/** The argument of the chart's guards. */
type GuardArgs = { readonly context: Machine };
type ToState = { readonly to: StopOutcome };
type Instead = ToState & { readonly by: WorkGuard };

/** The guards of protocol.md §5 by name: each tells whether it decides for state `to`. */
const decidingGuards = Object.fromEntries(
  guardNames.map((guard) => [
    guard,
    ({ context: { evaluation } }: GuardArgs, { to, by }: ToState & Partial<Instead>) =>
      evaluation !== undefined &&
      (by === undefined ? leadsTo(evaluation, guard, to) : leadsInsteadTo(evaluation, by, guard, to)),
  ]),
) as Record<Exclude<GuardName, FailureGuard>, (args: GuardArgs, params: ToState) => boolean> &
  Record<FailureGuard, (args: GuardArgs, params: Instead) => boolean>;

/** Recognises repeats of the open and the last attempt. The fleet recognises more (`known-attempts.ts`). */
const isRepeat = (
  { attempt, lastDecision }: WorkerContext,
  { data, seq }: WorkerEventOf<'stop.attempted'>,
): boolean => {
  const id = data.attempt ?? `seq-${seq}`;
  return attempt?.attempt === id || (attempt === null && lastDecision?.attempt === id);
};
const taskOf = (event: WorkerEvent): string => (event as WorkerEventOf<'task.released'>).data.task;

const machine = setup({
  types: {} as { context: Machine; events: WorkerEvent; input: WorkerInput },
  guards: {
    ...decidingGuards,
    isWaiting: ({ context }: GuardArgs) => isWaiting(context.worker),
    isUnjudged: ({ context: { worker, evaluation } }: GuardArgs) => worker.attempt !== null && evaluation === undefined,
    mustWait: ({ context: { evaluation } }: GuardArgs, { guard }: { guard: GuardName }) =>
      evaluation !== undefined && mustWait(evaluation, guard),
    isOverruled: ({ context: { evaluation } }: GuardArgs) => evaluation !== undefined && isUnfinished(evaluation),
    isRepeat: ({ context: { worker }, event }) => isRepeat(worker, event as WorkerEventOf<'stop.attempted'>),
    isAboutPending: ({ context: { worker }, event }) =>
      isAboutPending(worker, event as WorkerEventOf<'check.finished'>),
    inService: ({ context: { worker } }) => worker.ended === null,
    canReregister: ({ context: { worker } }) => worker.ended !== 'retired',
    changesMode: ({ context: { worker }, event }) =>
      changesMode(worker, (event as WorkerEventOf<'heartbeat.sent'>).data),
    mayPause: ({ event }) => mayPause(event as WorkerEventOf<'worker.paused'>),
    isByPerson: ({ event }) => isByPerson((event as WorkerEventOf<'prompt.submitted'>).data),
    isReturnByPerson: ({ context: { worker }, event }) =>
      worker.ended !== 'retired' && isByPerson((event as WorkerEventOf<'prompt.submitted'>).data),
    isNotHolding: ({ context: { worker }, event }) => !worker.tasks.includes(taskOf(event)),
    holdsOnlyThis: ({ context: { worker }, event }) => worker.tasks.every((task) => task === taskOf(event)),
    resumes: (_, { verdict }: { verdict: 'resume' | 'stop' }) => verdict === 'resume',
    nowActive: (_, { presence }: { presence: Presence }) => presence === 'active',
    nowStale: (_, { presence }: { presence: Presence }) => presence === 'stale',
    nowLimited: (_, { presence }: { presence: Presence }) => presence === 'limited',
  },
  actions: {
    setMode: change((worker, { data }: WorkerEventOf<'heartbeat.sent'>) => changeMode(worker, data)),
    move: change((_worker, { data }: WorkerEventOf<'worker.moved'>) => ({ cwd: data.cwd })),
    pause: change((_worker, event: WorkerEventOf<'worker.paused'>) => pauseWorker(event)),
    unpause: change(() => ({ pause: null })),
    resumeSession: change(() => ({ ended: null })),
    register: change((worker, event: WorkerEventOf<'worker.registered'>) => register(worker, event)),
    prompt: change((worker, event: WorkerEventOf<'prompt.submitted'>) => beginTurn(worker, event)),
    startCall: change((worker, event: WorkerEventOf<'tool.started'>) => ({ calls: startCall(worker.calls, event) })),
    useTool: change((worker, event: WorkerEventOf<'tool.used'>) => useTool(worker, event)),
    setPlan: change((worker, { data }: WorkerEventOf<'plan.updated'>) => ({
      plan: replaceOwnSteps(worker.plan, data.steps),
    })),
    setStep: change((worker, { data }: WorkerEventOf<'step.updated'>) => ({ plan: updateStep(worker.plan, data) })),
    takeTask: change((worker, event: WorkerEventOf<'task.claimed'>) => takeTask(worker, event)),
    planTask: change((worker, event: WorkerEventOf<'task.planned'>) => planTask(worker, event)),
    release: change((worker, event: WorkerEventOf<'task.lost' | 'task.failed'>) => releaseTask(worker, event)),
    startBackground: change((worker, event: WorkerEventOf<'background.started'>) => startBackground(worker, event)),
    finishBackground: change((worker, event: WorkerEventOf<'background.finished'>) => finishBackground(worker, event)),
    requestInput: change((worker, event: WorkerEventOf<'input.requested'>) => requestInput(worker, event)),
    receiveInput: change((worker, event: WorkerEventOf<'input.received'>) => receiveInput(worker, event)),
    answerInput: change((worker, event: WorkerEventOf<'input.answered'>) => answerInput(worker, event)),
    noteOverdue: change((worker, event: WorkerEventOf<'input.overdue'>) => noteOverdue(worker, event)),
    noticeInput: change((worker, event: WorkerEventOf<'input.noticed'>) => noticeInput(worker, event)),
    acknowledgeInputs: change((worker, event: WorkerEventOf<'input.acknowledged'>) => acknowledgeInputs(worker, event)),
    reachLimit: change((worker, event: WorkerEventOf<'limit.reached'>) => reachLimit(worker, event)),
    clearLimit: change((_worker, { data }: WorkerEventOf<'limit.cleared'>) =>
      data.scope === undefined ? { limit: null } : {},
    ),
    exhaustBudget: change(() => ({ budgetExhausted: true })),
    addUsage: change((worker, event: WorkerEventOf<'usage.reported'>) => addUsage(worker, event)),
    openAttempt: change((worker, event: WorkerEventOf<'stop.attempted'>) => openAttempt(worker, event)),
    startCheck: change((worker, event: WorkerEventOf<'check.started'>) => startCheck(worker, event)),
    answerCheck: change((worker, event: WorkerEventOf<'check.finished'>) => answerCheck(worker, event)),
    reevaluate: change((worker, event: WorkerEventOf<'timer.fired'>) => reevaluate(worker, event)),
    supersede: change((worker, event: WorkerEventOf<'attempt.superseded'>) => supersedeAttempt(worker, event)),
    close: change((worker, event: WorkerEventOf<'session.ended'>) => closeSession(worker, event)),
    judge,
    decide: changeBy((row: DecidingRow, worker, evaluation) => decideBy(worker, evaluation, row)),
    wait: changeBy(({ guard }: { guard: GuardName }, worker, evaluation) => wait(worker, evaluation, guard)),
    decideNothing: change((worker) => decideNothing(worker)),
    acknowledge: change((worker, { data, atMs }: WorkerEventOf<'escalation.acknowledged'>) => ({
      escalation: acknowledge(worker.escalation, data.by, formatIsoTime(atMs)),
    })),
    noteNotice: change((worker, { atMs }: WorkerEventOf<'escalation.notified'>) => ({
      escalation: noteNotice(worker.escalation, formatIsoTime(atMs)),
    })),
    resolve: change((worker, event: WorkerEventOf<'escalation.resolved'>) => resolveEscalation(worker, event)),
    escalateStale: change((worker, event: WorkerEventOf<'stale.escalated'>) => escalateStale(worker, event)),
    clearFiles: change(() => noFiles),
    noteRefusal: change((worker, { refused }: WorkerEventOf<'entry.refused'>) => ({
      refused: [...worker.refused, refused].slice(-refusedMax),
    })),
  },
});

const presence = ({ event }: { event: WorkerEvent }) => ({
  presence: (event as WorkerEventOf<'presence.changed'>).presence,
});
const presenceMoves = {
  'presence.changed': [
    { guard: { type: 'nowLimited', params: presence }, target: 'limited' },
    { guard: { type: 'nowStale', params: presence }, target: 'stale' },
    { guard: { type: 'nowActive', params: presence }, target: 'active' },
  ],
} as const;

/** Work entries lead to `working`. Entries that do not depend on the state are handled at the root. */
const workMoves = {
  'prompt.submitted': [{ guard: 'isByPerson', target: 'working', actions: 'prompt' }, { target: 'working' }],
  'tool.started': { target: 'working', actions: 'startCall' },
  'tool.used': { target: 'working', actions: 'useTool' },
  'plan.updated': { target: 'working', actions: 'setPlan' },
  'step.updated': { target: 'working', actions: 'setStep' },
  'task.claimed': { target: 'working', actions: 'takeTask' },
} as const;
const release = [
  { guard: 'isNotHolding' },
  { guard: 'holdsOnlyThis', target: 'idle', actions: 'release' },
  { actions: 'release' },
] as const;
const releaseOnly = [{ guard: 'isNotHolding' }, { actions: 'release' }] as const;
const releases = {
  'task.completed': release,
  'task.failed': release,
  'task.released': release,
  'task.lost': release,
} as const;
const attempted = {
  'stop.attempted': [{ guard: 'isRepeat' }, { target: 'validating', actions: 'openAttempt' }],
} as const;
const close = { target: 'stopped', actions: 'close' } as const;
const closed = { 'session.ended': close, 'worker.retired': close } as const;
/** Not handled in `validating`: while an attempt is open, the worker waits for the service. */
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
    // If no state below handles one of these, it only changes the context.
    'worker.registered': { actions: 'register' },
    'tool.started': { actions: 'startCall' },
    'tool.used': { actions: 'useTool' },
    'plan.updated': { actions: 'setPlan' },
    'step.updated': { actions: 'setStep' },
    'task.claimed': { actions: 'takeTask' },
    'task.planned': { actions: 'planTask' },
    'task.completed': releaseOnly,
    'task.failed': releaseOnly,
    'task.released': releaseOnly,
    'task.lost': releaseOnly,
  },
  states: {
    state: {
      initial: 'idle',
      states: {
        idle: { on: { ...workMoves, ...releases, ...attempted, ...closed, ...stale } },
        // Work entries are handled at the root, which only changes the context.
        working: {
          on: {
            'prompt.submitted': { guard: 'isByPerson', actions: 'prompt' },
            ...releases,
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
            // Prompts by other agents or the system do not end an attempt.
            'prompt.submitted': { guard: 'isByPerson', target: 'working', actions: ['supersede', 'prompt'] },
          },
        },
        blocked: { on: { ...workMoves, ...releases, ...attempted, ...closed, ...registration, ...stale } },
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
              // A worker whose session had ended returns, and keeps its counts.
              { guard: 'canReregister', target: 'working', actions: 'resumeSession' },
            ],
            'tool.started': [{ guard: 'inService', target: 'working', actions: 'startCall' }, { actions: 'startCall' }],
            'tool.used': [{ guard: 'inService', target: 'working', actions: 'useTool' }, { actions: 'useTool' }],
            'plan.updated': [{ guard: 'inService', target: 'working', actions: 'setPlan' }, { actions: 'setPlan' }],
            'step.updated': [{ guard: 'inService', target: 'working', actions: 'setStep' }, { actions: 'setStep' }],
            // Out of service, it takes no task. The empty transition keeps the root from handling the event.
            'task.claimed': [{ guard: 'inService', target: 'working', actions: 'takeTask' }, {}],
            ...releases,
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
