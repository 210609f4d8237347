/**
 * Worker: one agent session, from its registration to the stop that we allow. The six states and `presence` beside
 * them (protocol 4). A stop is judged here, by the named guards, and the answer is read off the snapshot's
 * `lastDecision`. Pure: clocks, ids and the fleet around it arrive with the events.
 */
import { assign, type SnapshotFrom, setup } from 'xstate';
import type { Ask, Attempt, Facts, Judged, PolicyInForce, Ruling } from './attempt.ts';
import { findingOf } from './check.ts';
import type { Decision, Feedback, GuardName, Presence, State } from './decision.ts';
import { type AttemptFields, type CheckResult, filesMax, type WorkerEntry } from './entry.ts';
import { idleOf, judge } from './guards.ts';
import { formatIsoTime } from './iso-time.ts';
import { noPlan, type Plan, updateStep } from './plan.ts';
import { idleByProfile, isProfile } from './policy.ts';

type At = { readonly atMs: number };
type EntryEvent = WorkerEntry extends infer E
  ? E extends { type: infer T; data: infer D }
    ? T extends 'stop.attempted'
      ? never
      : { readonly type: T; readonly data: D } & At
    : never
  : never;

export type WorkerEvent =
  | EntryEvent
  /** A claim brings the task's own plan, where it has one. */
  | ({ readonly type: 'task.taken'; readonly task: string; readonly plan: Plan | null } & At)
  /** A held task is no longer this worker's. */
  | ({ readonly type: 'task.lost'; readonly task: string } & At)
  | {
      readonly type: 'stop.attempted';
      readonly attempt: string;
      readonly seq: number;
      readonly fields: AttemptFields;
      readonly inForce: PolicyInForce;
      readonly facts: Facts;
    }
  /** An answer from outside to what the open attempt asked. */
  | { readonly type: 'check.finished'; readonly result: CheckResult; readonly facts: Facts }
  /** A deadline of the open attempt has come, or a task has arrived for it. */
  | { readonly type: 'attempt.resumed'; readonly facts: Facts }
  | { readonly type: 'attempt.superseded'; readonly facts: Facts }
  | ({ readonly type: 'session.closed'; readonly as: 'ended' | 'retired'; readonly facts: Facts } & At)
  | ({ readonly type: 'escalation.resolved'; readonly verdict: 'resume' | 'stop' } & At)
  | { readonly type: 'presence.changed'; readonly presence: Presence }
  | { readonly type: 'files.cleared' }
  | { readonly type: 'entry.refused'; readonly refused: RefusedEntry };

export type RefusedEntry = { readonly at: string; readonly type: string; readonly reason: string };
const refusedMax = 20;

/** What becomes of the held tasks when an attempt ends (protocol 4). */
export type Fate = 'completed' | 'blocked' | 'escalated' | 'released' | 'held';

export type WorkerContext = Judged & {
  readonly agent: string | null;
  readonly profile: string | null;
  readonly policy: string | null;
  readonly queue: string | null;
  readonly parent: string | null;
  readonly cwd: string | null;
  readonly toolCount: number;
  /** Null: none of its own; `untilMs` null: until cleared. */
  readonly limit: { readonly untilMs: number | null } | null;
  /** Every scope of a usage limit that it ever reported. */
  readonly scopes: readonly string[];
  readonly attempt: Attempt | null;
  readonly lastDecision: Decision | null;
  readonly lastFate: Fate;
  /** What the hooks of the last decision wanted saved with the task. */
  readonly lastCheckpoint: Attempt['checkpoint'];
  readonly refused: readonly RefusedEntry[];
};
export type WorkerInput = { readonly fleet: string; readonly worker: string } & At;
export type WorkerSnapshot = SnapshotFrom<typeof workerMachine>;

type Change = Partial<WorkerContext>;
type On<T extends WorkerEvent['type']> = Extract<WorkerEvent, { type: T }>;
const empty: readonly never[] = Object.freeze([]);
const noLabels = Object.freeze({});
const noFindings = Object.freeze({});
const countsAnew = { retryCount: 0, keepAlives: 0, stuck: null } as const;

// --- what entries do to the context ---------------------------------------------------------------------------

function registered(_context: WorkerContext, { data, atMs }: On<'worker.registered'>): Change {
  const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
  const anew = { ended: null, escalated: false, awaitsInput: false, background: empty, budgetExhausted: false };
  return { ...given, ...anew, ...countsAnew, activeMs: atMs };
}

function prompted(context: WorkerContext): Change {
  if (context.ended === 'retired') return {};
  const anew = { ended: null, escalated: false, awaitsInput: false, budgetExhausted: false, files: empty };
  return { ...anew, ...countsAnew };
}

function usedTool(context: WorkerContext, { data }: On<'tool.used'>): WorkerContext {
  const toolCount = context.toolCount + 1;
  const given = data.files ?? empty;
  // Many by many would take seconds of every replica.
  const known = given.length > 8 ? new Set(context.files) : { has: (file: string) => context.files.includes(file) };
  const added = given.filter((file) => !known.has(file));
  if (added.length === 0) return { ...context, toolCount };
  return { ...context, toolCount, files: [...context.files, ...new Set(added)].slice(0, filesMax) };
}

function tookTask(context: WorkerContext, { task, plan, atMs }: On<'task.taken'>): Change {
  const tasks = [...context.tasks.filter((held) => held !== task), task];
  return { ...countsAnew, tasks, activeMs: atMs, files: empty, ...(plan === null ? {} : { plan }) };
}

const letGo = (context: WorkerContext, task: string, atMs: number): Change => ({
  ...countsAnew,
  tasks: context.tasks.filter((held) => held !== task),
  activeMs: atMs,
});

function limitReached(context: WorkerContext, { data }: On<'limit.reached'>): Change {
  const { scope } = data;
  if (scope === undefined) return { limit: { untilMs: data.until ?? null } };
  return context.scopes.includes(scope) ? {} : { scopes: [...context.scopes, scope] };
}

// --- judging --------------------------------------------------------------------------------------------------

export function openAttempt(context: WorkerContext, event: On<'stop.attempted'>): Change {
  const { attempt, seq, fields, inForce, facts } = event;
  const { persistence } = inForce.policy;
  const { profile } = context;
  const idleLimitMs =
    persistence?.named && profile !== null && isProfile(profile)
      ? idleByProfile[profile]
      : (persistence?.idleMs ?? null);
  const notes = inForce.notes.map((detail) => ({ guard: 'policy', verdict: 'error', detail }) as const);
  return judgeFrom(context, facts, {
    attempt,
    seq,
    atMs: facts.nowMs,
    fields,
    inForce,
    idleLimitMs,
    holdUntilMs: facts.nowMs + (persistence === null ? 0 : (fields.holdMs ?? persistence.holdMs)),
    guard: 'retired',
    verdicts: notes,
    feedback: empty,
    findings: noFindings,
    hookResults: noFindings,
    asks: 0,
    asked: null,
    holding: false,
    passed: false,
    checkpoint: null,
  });
}

export function answerAsked(context: WorkerContext, { result, facts }: On<'check.finished'>): Change {
  const attempt = context.attempt as Attempt;
  return judgeFrom(context, facts, answered(attempt, attempt.asked as Ask, result));
}

function resume(context: WorkerContext, { facts }: On<'attempt.resumed'>): Change {
  const attempt = context.attempt as Attempt;
  const { asked } = attempt;
  if (asked === null) return judgeFrom(context, facts, attempt);
  const timeout: CheckResult = { attempt: attempt.attempt, check: asked.name, outcome: 'timeout' };
  return judgeFrom(context, facts, answered(attempt, asked, timeout));
}

function answered(attempt: Attempt, asked: Ask, result: CheckResult): Attempt {
  if (asked.by === 'hooks') return { ...attempt, hookResults: { ...attempt.hookResults, [asked.key]: result } };
  return { ...attempt, findings: { ...attempt.findings, [asked.check.name]: findingOf(asked.check, result) } };
}

function judgeFrom(context: WorkerContext, facts: Facts, from: Attempt): Change {
  const { attempt, ruling, stuck } = judge(context, from, facts);
  const row = attempt.passed ? null : stuck;
  if (ruling === null) return { attempt, stuck: row };
  return { stuck: row, ...decide({ ...context, stuck: row }, attempt, ruling, facts) };
}

type Decided = Ruling & { readonly guard: GuardName | null };

/** Ends the attempt: the decision, the counts after it, and what becomes of the held tasks. */
function decide(context: WorkerContext, attempt: Attempt, ruling: Decided, facts: Facts): Change {
  const lastDecision = decisionOf(context, attempt, ruling, facts);
  const lastFate = fateOf(ruling);
  const freed = lastFate === 'completed' || lastFate === 'escalated' || lastFate === 'released';
  return {
    attempt: null,
    lastDecision,
    lastFate,
    lastCheckpoint: attempt.checkpoint,
    ...countsAfter(context, ruling),
    escalated: ruling.action === 'escalate',
    ...(freed && context.tasks.length > 0 ? { tasks: empty, activeMs: facts.nowMs } : {}),
  };
}

function decisionOf(context: WorkerContext, attempt: Attempt, ruling: Decided, facts: Facts): Decision {
  const { decision, action, cause, reason, nextPrompt } = ruling;
  const { policy, name, seq } = attempt.inForce;
  return {
    v: 1,
    fleet: context.fleet,
    worker: context.worker,
    task: facts.task?.task ?? null,
    attempt: attempt.attempt,
    seq: attempt.seq,
    at: formatIsoTime(facts.nowMs),
    decision,
    action,
    cause,
    reason,
    nextPrompt,
    feedback: fitFeedback(attempt.feedback),
    state: stateAfter(ruling),
    retry: { count: context.retryCount + (countsAsRetry(ruling) ? 1 : 0), max: policy.retries },
    idle: idleOf(context, attempt.idleLimitMs, facts.nowMs),
    pendingTasks: facts.pendingTasks,
    policy: { name, seq },
    verdicts: attempt.verdicts.slice(),
    replica: '',
    tookMs: 0,
    dryRun: false,
  };
}

const detailsLengthMax = 100_000;

/** A decision must fit into one message: details past a size that no reader needs are left out, the words stay. */
function fitFeedback(feedback: readonly Feedback[]): Feedback[] {
  let length = 0;
  return feedback.map((each) => {
    length += JSON.stringify(each.details)?.length ?? 0;
    if (length <= detailsLengthMax) return each;
    return { ...each, details: { note: 'left out: the feedback of this decision is too large' } };
  });
}

function stateAfter({ decision, action, cause }: Ruling): State {
  if (cause === 'superseded') return 'validating';
  if (decision === 'block') return 'blocked';
  return action === 'complete' ? 'stopped' : action === 'escalate' ? 'escalated' : 'idle';
}

const countsAsRetry = ({ decision, guard }: Decided) =>
  decision === 'block' && (guard === 'checks' || guard === 'hooks');

function countsAfter(context: WorkerContext, ruling: Decided): Change {
  if (ruling.decision === 'allow') return ruling.action === 'continue' ? {} : countsAnew;
  if (countsAsRetry(ruling)) return { retryCount: context.retryCount + 1 };
  return ruling.guard === null ? {} : { keepAlives: context.keepAlives + 1 };
}

function fateOf({ decision, action, cause }: Ruling): Fate {
  if (decision === 'block') return cause === 'incomplete' ? 'blocked' : 'held';
  if (action === 'escalate' || cause === 'capped') return 'escalated';
  if (cause === 'complete' || cause === 'no-policy') return 'completed';
  return cause === 'retired' || cause === 'bypassed' ? 'released' : 'held';
}

function supersede(context: WorkerContext, { facts }: On<'attempt.superseded'>): Change {
  const reason = 'A newer attempt or prompt took the place of this one';
  const ruling = {
    decision: 'block',
    action: 'continue',
    cause: 'superseded',
    reason,
    nextPrompt: null,
    guard: null,
  } as const;
  return context.attempt === null ? {} : decide(context, context.attempt, ruling, facts);
}

/** The session ends or the worker is retired, whatever was open. */
function close(context: WorkerContext, { as, facts, atMs }: On<'session.closed'>): Change {
  const closed = { ended: as, escalated: false, awaitsInput: false, background: empty, tasks: empty, attempt: null };
  const freed = context.tasks.length > 0 ? { ...countsAnew, activeMs: atMs } : {};
  if (context.attempt === null) return { ...closed, ...freed };
  const reason = as === 'retired' ? 'The worker was retired' : 'The session ended';
  const attempt: Attempt = {
    ...context.attempt,
    verdicts: [
      ...context.attempt.verdicts,
      { guard: 'retired', verdict: 'allow', detail: reason, input: { ended: as } },
    ],
  };
  const ruling = {
    decision: 'allow',
    action: 'complete',
    cause: 'retired',
    reason,
    nextPrompt: null,
    guard: 'retired',
  } as const;
  return { ...decide(context, attempt, ruling, facts), ...closed, ...freed, lastFate: 'held' };
}

// --- the chart ------------------------------------------------------------------------------------------------

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
const speaks =
  (guard: GuardName) =>
  ({ context }: { context: Machine }, { state }: To) =>
    decidedBy(guard, context.worker, state);
const rule = (guard: GuardName, state: Exclude<State, 'working' | 'validating'>) =>
  ({ guard: { type: guard, params: { state } }, target: state }) as const;

const machine = setup({
  types: {} as { context: Machine; events: WorkerEvent; input: WorkerInput },
  guards: {
    retired: speaks('retired'),
    escalated: speaks('escalated'),
    bypass: speaks('bypass'),
    limited: speaks('limited'),
    waiting: speaks('waiting'),
    retries: speaks('retries'),
    promise: speaks('promise'),
    checks: speaks('checks'),
    hooks: speaks('hooks'),
    stuck: speaks('stuck'),
    pending: speaks('pending'),
    idle: speaks('idle'),
    done: speaks('done'),
    inService: ({ context: { worker } }) => worker.ended === null,
    mayReturn: ({ context: { worker } }) => worker.ended !== 'retired',
    holdsNone: ({ context: { worker }, event }) => worker.tasks.every((task) => 'task' in event && task === event.task),
    resumes: (_, { verdict }: { verdict: 'resume' | 'stop' }) => verdict === 'resume',
    nowActive: (_, { presence }: { presence: Presence }) => presence === 'active',
    nowStale: (_, { presence }: { presence: Presence }) => presence === 'stale',
    nowLimited: (_, { presence }: { presence: Presence }) => presence === 'limited',
  },
  actions: {
    register: change((it, event: On<'worker.registered'>) => registered(it, event)),
    prompt: change((it) => prompted(it)),
    useTool: replace((it, event: On<'tool.used'>) => usedTool(it, event)),
    setPlan: change((_it, { data }: On<'plan.updated'>) => ({ plan: data.steps })),
    setStep: replace((it, { data }: On<'step.updated'>) => ({ ...it, plan: updateStep(it.plan, data) })),
    takeTask: change((it, event: On<'task.taken'>) => tookTask(it, event)),
    letGo: change((it, { task, atMs }: On<'task.lost'>) => letGo(it, task, atMs)),
    startBackground: change((it, { data: { id } }: On<'background.started'>) =>
      it.background.includes(id) ? {} : { background: [...it.background, id] },
    ),
    finishBackground: change((it, { data: { id } }: On<'background.finished'>) => ({
      background: it.background.filter((started) => started !== id),
    })),
    awaitInput: change(() => ({ awaitsInput: true })),
    receiveInput: change(() => ({ awaitsInput: false })),
    reachLimit: change((it, event: On<'limit.reached'>) => limitReached(it, event)),
    clearLimit: change((_it, { data }: On<'limit.cleared'>) => (data.scope === undefined ? { limit: null } : {})),
    exhaustBudget: change(() => ({ budgetExhausted: true })),
    openAttempt: change((it, event: On<'stop.attempted'>) => openAttempt(it, event)),
    answerAsked: change((it, event: On<'check.finished'>) => answerAsked(it, event)),
    resume: change((it, event: On<'attempt.resumed'>) => resume(it, event)),
    supersede: change((it, event: On<'attempt.superseded'>) => supersede(it, event)),
    close: change((it, event: On<'session.closed'>) => close(it, event)),
    resolve: change(() => ({ escalated: false })),
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
  context: ({ input: { fleet, worker, atMs } }) => ({
    worker: {
      fleet,
      worker,
      agent: null,
      profile: null,
      policy: null,
      queue: null,
      parent: null,
      cwd: null,
      labels: noLabels,
      ended: null,
      escalated: false,
      budgetExhausted: false,
      background: empty,
      awaitsInput: false,
      retryCount: 0,
      keepAlives: 0,
      stuck: null,
      plan: noPlan,
      files: empty,
      tasks: empty,
      toolCount: 0,
      activeMs: atMs,
      limit: null,
      scopes: empty,
      attempt: null,
      lastDecision: null,
      lastFate: 'held',
      lastCheckpoint: null,
      refused: empty,
    },
  }),
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
    // Where no state below says more, an entry changes the context only.
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
            'check.finished': { actions: 'answerAsked' },
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
