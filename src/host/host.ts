/**
 * Host: folds the log into the fleet and carries out what the fold asks for. Until it reaches the log's head it only
 * reads; from then on it sends decisions, answers, checks and timers. Only an entry that came back from the log changes
 * state.
 */
import { attemptIdFault, type Decision, type Fleet, type HookResult } from '../../machines/index.ts';
import type { PolicyForm, RetentionRules } from '../config/file.ts';
import { AppError } from '../errors.ts';
import { createHostContext, type HostContext, type HostOptions } from './context.ts';
import { type Checks, createChecks } from './effects/checks.ts';
import { createEffects } from './effects/effects.ts';
import { createNotices, type EscalationRules } from './effects/notices.ts';
import { createPendingReplies, type PendingReply } from './effects/pending-replies.ts';
import { createTakeover } from './effects/takeover.ts';
import { createTimers } from './effects/timers.ts';
import { createDeadLetters } from './fold/dead-letters.ts';
import { createFoldLoop } from './fold/fold-loop.ts';
import { createObservers, type Observe } from './fold/observers.ts';
import { createOutbox, type Outbox } from './fold/outbox.ts';
import type { Admitted } from './intake/admission.ts';
import {
  type AttemptRequest,
  findCompletion,
  isKnown,
  messageIdFor,
  repeatAttempt,
  submitAttempt,
  submitEvaluation,
} from './intake/attempts.ts';
import { catchUpInTime, faultOf, foldInTime, notConnected, throwUnlessStarted } from './intake/read-barrier.ts';
import type { OnAnswer } from './intake/waiters.ts';
import { createFoldNote, createLogWatch } from './maintenance/log-health.ts';
import { createMembership } from './maintenance/membership.ts';
import { createPolicyPublisher } from './maintenance/policy-publisher.ts';
import { createRetention } from './maintenance/retention.ts';
import { createSnapshots, restoreHostState, type SnapshotTaken } from './maintenance/snapshots.ts';
import { createStanding, type Standing } from './standing.ts';
import { createStartStop } from './start-stop.ts';

export type Host = {
  readonly fleet: Fleet;
  /** Folds the history and continues what it left open. */
  start(): Promise<void>;
  /**
   * Appends an attempt, or finds the one of that id. `onAnswer` gets its decision, or an AppError: input.bad,
   * log.unavailable, log.lost, service.busy. It is called once, perhaps before this returns, and must not throw.
   */
  attempt(worker: string, request: AttemptRequest, onAnswer: OnAnswer<Decision>): void;
  /**
   * The decision by which a task was completed.
   * @throws AppError actor.unknown: it was not, or retention has removed the decision; log.unavailable
   */
  completion(task: string): Promise<Decision>;
  /**
   * Appends an `iteration.validated` and gives what the task's hooks decide.
   * @throws AppError entry.refused, log.unavailable, log.lost, service.busy
   */
  evaluate(task: string, fields: object): Promise<HookResult>;
  /** Runs `work`, which stores an entry about `actor`. @throws AppError log.unavailable, log.lost, service.busy */
  write<Result>(actor: string, work: () => Promise<Result>): Promise<Result>;
  /** Runs `work`, which only reads. @throws AppError service.busy */
  read<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs `work`, which judges `actor` and stores nothing. `signal`: it has given way, and nobody waits for it any more.
   * @throws AppError service.busy
   */
  trial<Result>(actor: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Everything that the log held when this was called is folded. @throws AppError log.lost, log.unavailable */
  caughtUp(): Promise<void>;
  /** Everything up to `seq` is folded; the log is not asked how far it goes. @throws AppError as `caughtUp` does */
  foldedTo(seq: number): Promise<void>;
  /** Says why the fold refused the entry `seq` about this actor; null: it did not, or too many were refused since. */
  refusal(seq: number, entity: string, id: string): string | null;
  logNow(): number;
  /** Returns the reply of the check that the worker waits for, if it has no result yet. */
  pendingReply(worker: string): PendingReply | null;
  setPolicies(form: PolicyForm): void;
  setEscalation(rules: EscalationRules): void;
  /** Calls a check for a probe: nothing is stored. Never rejects. */
  callCheck: Checks['call'];
  /** Returns why nothing can be decided now, or null. */
  fault(): AppError | null;
  /** The service itself: whether it judges, its replicas, and what is near its bound. */
  readonly standing: Standing;
  readonly foldedSeq: () => number;
  /** The log's last sequence number, as far as this replica has heard of it. */
  readonly lastSeq: () => number;
  readonly observe: Observe;
  /** Takes a snapshot of now. @throws AppError log.unavailable */
  takeSnapshot(): Promise<SnapshotTaken>;
  setRetention(rules: RetentionRules): void;
  close(): Promise<void>;
};

/** One for all: to make the reason that `abort` gives by itself takes longer than most requests. */
const gaveWay = new Error('nobody waits for this any more');

export function createHost(options: HostOptions): Host {
  const context = createHostContext(options);
  const { fleet, logClock, progress } = context;
  const rooms = createRooms(context);
  if (context.start !== null) restoreHostState(context, rooms, context.start);
  const loop = createFoldLoop(context, rooms);
  const startStop = createStartStop(context, rooms, loop);
  const writes = createWrites(context);
  return {
    fleet,
    ...startStop,
    attempt: (worker, request, onAnswer) => takeAttempt(context, rooms.outbox, writes, worker, request, onAnswer),
    completion: (task) => findCompletion(context, rooms.outbox, task),
    evaluate: (task, fields) =>
      writes.run({ actor: task, key: context.newId() }, () => submitEvaluation(context, task, fields)),
    write: (actor, work) => writes.run({ actor, key: context.newId() }, work),
    read: (work) => context.admission.reads.run({ actor: null, key: context.newId() }, work),
    async trial(actor, work) {
      const abort = new AbortController();
      const request = { actor, key: context.newId() };
      try {
        return await context.admission.trials.run(request, () => work(abort.signal));
      } finally {
        abort.abort(gaveWay);
      }
    },
    caughtUp: () => catchUpInTime(context),
    foldedTo: (seq) => foldInTime(context, seq),
    refusal: (seq, entity, id) => context.refusals.of(seq, `${entity}.${id}`),
    logNow: logClock.now,
    pendingReply: rooms.pendingReplies.of,
    foldedSeq: () => progress.seq,
    lastSeq: () => Math.max(progress.seq, options.log.lastSeq()),
    callCheck: rooms.checks.call,
    setPolicies: rooms.policies.set,
    setEscalation: rooms.notices.configure,
    fault: () => faultOf(context),
    standing: createStanding(context, rooms),
    observe: rooms.observers.add,
    takeSnapshot: rooms.snapshots.take,
    setRetention: rooms.retention.configure,
  };
}

function createRooms(context: HostContext) {
  const { fleet, replica, bus, logger, decisionWaiters } = context;
  const observers = createObservers(fleet, logger);
  const outbox = createOutbox(context);
  const membership = createMembership(context);
  const policies = createPolicyPublisher(context);
  const deadLetters = createDeadLetters(context);
  const retention = createRetention(context, deadLetters);
  const pendingReplies = createPendingReplies(fleet, replica, bus, observers.pending);
  const checks = createChecks({ ...context, pendingReplies, onRefused: decisionWaiters.settle });
  const timers = createTimers(context);
  const notices = createNotices(context);
  const performers = { check: checks.check, hook: checks.hook, notice: notices, timer: timers };
  const effects = createEffects({ ...context, performers });
  return {
    outbox,
    policies,
    deadLetters,
    retention,
    membership,
    observers,
    checks,
    timers,
    notices,
    effects,
    pendingReplies,
    snapshots: createSnapshots(context, { outbox, policies, deadLetters, retention }),
    foldNote: createFoldNote(context),
    logWatch: createLogWatch(context),
    takeover: createTakeover({ ...context, outbox, effects, isLagging: membership.isLagging }),
  };
}

/**
 * Nearly always an attempt goes to the log in the turn of its request, and its answer comes in the turn of its decision:
 * there is no promise between.
 */
function takeAttempt(
  context: HostContext,
  outbox: Outbox,
  writes: Writes,
  worker: string,
  { attempt, payload }: AttemptRequest,
  onAnswer: OnAnswer<Decision>,
): void {
  const messageId = messageIdFor(context, worker, attempt);
  const request = { actor: worker, key: messageId };
  writes.enter(request);
  const answer: OnAnswer<Decision> = (given) => {
    writes.leave(request);
    onAnswer(given);
  };
  const fault = attemptIdFault(attempt);
  if (!context.bus.isConnected() || fault !== null || isRepeat(context, worker, attempt)) {
    prepareAttempt(context, outbox, writes, worker, { attempt, payload }, messageId, answer).catch(answer);
    return;
  }
  try {
    outbox.throwIfFull();
    submitAttempt(context, worker, payload, messageId, answer);
  } catch (error) {
    answer(error as Error);
  }
}

const isRepeat = ({ fleet }: HostContext, worker: string, attempt: string | undefined): attempt is string =>
  attempt !== undefined && isKnown(fleet, worker, attempt);

/** Something has to be waited for before it goes to the log, or its decision is there. @throws AppError */
async function prepareAttempt(
  context: HostContext,
  outbox: Outbox,
  writes: Writes,
  worker: string,
  { attempt, payload }: AttemptRequest,
  messageId: string,
  onAnswer: OnAnswer<Decision>,
): Promise<void> {
  if (!context.bus.isConnected()) await writes.reconnected();
  const fault = attemptIdFault(attempt);
  // Another replica may have given it that id a moment ago.
  if (fault !== null) await catchUpInTime(context);
  if (isRepeat(context, worker, attempt)) {
    await repeatAttempt(context, outbox, worker, attempt, onAnswer);
    return;
  }
  if (fault !== null) throw new AppError('input.bad', fault);
  outbox.throwIfFull();
  submitAttempt(context, worker, payload, messageId, onAnswer);
}

/** Requests that store something. */
type Writes = {
  /** Takes a place, which `leave` gives back. @throws AppError log.unavailable, log.lost, service.busy */
  enter(request: Admitted): void;
  leave(request: Admitted): void;
  /** The connection is back, and the log the one that is folded. @throws AppError */
  reconnected(): Promise<void>;
  run<Result>(request: Admitted, work: () => Promise<Result>): Promise<Result>;
};

function createWrites(context: HostContext): Writes {
  const { bus, admission, logHealth, entryTimeoutMs } = context;
  let reconnecting: Promise<void> | null = null;
  const reconnect = async () => {
    if (!(await bus.connected(entryTimeoutMs))) throw notConnected();
    await catchUpInTime(context);
  };
  /**
   * Waits out a short break of the connection; what is published meanwhile would only pile up in memory. The log may be
   * an older copy then, so nothing is sent before the log is proved to be the same. All callers share one request.
   */
  const reconnected = (): Promise<void> => {
    reconnecting ??= reconnect().finally(() => {
      reconnecting = null;
    });
    return reconnecting;
  };
  const enter: Writes['enter'] = (request) => {
    throwUnlessStarted(context);
    // While the log stores nothing, nothing is sent; `log-health.ts` tries it every 2 s.
    const fault = logHealth.fault();
    if (fault !== null) throw fault;
    admission.writes.enter(request);
  };
  return {
    enter,
    leave: admission.writes.leave,
    reconnected,
    async run(request, work) {
      enter(request);
      try {
        if (!bus.isConnected()) await reconnected();
        return await work();
      } finally {
        admission.writes.leave(request);
      }
    },
  };
}
