/**
 * Host: folds the log into the fleet and carries out what the fold asks for. Up to the log's head it only reads; from
 * there on decisions, answers, checks and timers go out. Only an entry that came back from the log changes state.
 */
import type { CheckResult, Decision, Fleet, HookResult, PendingCheck, WorkerContext } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { type AttemptRequest, isKnown, submitAttempt } from './attempts.ts';
import { callCheck } from './check-call.ts';
import { createHostContext, type HostContext, type HostOptions, lossOf } from './context.ts';
import { createDeadLetters } from './dead-letters.ts';
import { createEvaluations } from './evaluations.ts';
import { createFoldLoop } from './fold-loop.ts';
import { createFoldNote } from './fold-note.ts';
import { createLifecycle, type Rooms } from './lifecycle.ts';
import { createMembership } from './membership.ts';
import type { EscalationRules } from './notice.ts';
import { createNotices } from './notices.ts';
import { createOutbox } from './outbox.ts';
import type { EscalationListener } from './outcomes.ts';
import { createPendingChecks } from './pending-checks.ts';
import { createPolicyPublisher, type PolicyForm } from './policy-publisher.ts';
import { catchUpInTime, foldInTime } from './read-barrier.ts';
import { repeatAttempt } from './repeated-attempts.ts';
import { createTakeover } from './takeover.ts';
import { createTimers } from './timers.ts';
import type { CheckTimes } from './workspace-check.ts';

export type Host = {
  readonly fleet: Fleet;
  /** Folds the history and continues what it left open. */
  start(): Promise<void>;
  /**
   * Appends an attempt, or finds the one of that id, and gives its decision.
   * @throws AppError log.unavailable, log.lost, service.busy
   */
  attempt(worker: string, fields: AttemptRequest): Promise<Decision>;
  /**
   * Appends an `iteration.validated` and gives what the task's hooks decide.
   * @throws AppError entry.refused, log.unavailable, log.lost, service.busy
   */
  evaluate(task: string, fields: object): Promise<HookResult>;
  /** Everything that the log held when this was called is folded. @throws AppError log.lost, log.unavailable */
  caughtUp(): Promise<void>;
  /** Everything up to `seq` is folded; the log is not asked how far it goes. @throws AppError as `caughtUp` does */
  foldedTo(seq: number): Promise<void>;
  logNow(): number;
  setPolicies(form: PolicyForm): void;
  setEscalation(rules: EscalationRules): void;
  /** Calls a check for a probe: nothing is stored. Never rejects. */
  callCheck(
    pending: PendingCheck,
    worker: WorkerContext,
    attempt: string,
    how: Pick<CheckTimes, 'signal' | 'onStarted'>,
  ): Promise<CheckResult>;
  /** Why nothing can be decided now, or null. */
  fault(): AppError | null;
  readonly foldedSeq: () => number;
  /** `listener` gets each escalation that changes, from the log's head on. @returns a function that removes it */
  onEscalation(listener: EscalationListener): () => void;
  /** `onFolded` gets each message after it was folded; null: nothing does. */
  observe(onFolded: ((message: LogMessage) => void) | null): void;
  close(): Promise<void>;
};

export function createHost(options: HostOptions): Host {
  const context = createHostContext(options);
  const { fleet, logClock, progress } = context;
  const escalationListeners = new Set<EscalationListener>();
  const rooms = createRooms(context, escalationListeners);
  const loop = createFoldLoop(context, rooms);
  const lifecycle = createLifecycle(context, rooms, loop);
  return {
    fleet,
    ...lifecycle,
    async attempt(worker, fields) {
      admit(context);
      const { attempt } = fields;
      return attempt !== undefined && isKnown(fleet, worker, attempt)
        ? repeatAttempt(context, rooms.outbox, worker, attempt)
        : submitAttempt(context, worker, fields);
    },
    async evaluate(task, fields) {
      admit(context);
      return rooms.evaluations.evaluate(task, fields);
    },
    caughtUp: () => catchUpInTime(context),
    foldedTo: (seq) => foldInTime(context, seq),
    logNow: logClock.now,
    foldedSeq: () => progress.seq,
    callCheck: (...call) => callCheck(context, ...call),
    setPolicies: rooms.policies.set,
    setEscalation: rooms.notices.configure,
    fault: () => faultOf(context),
    onEscalation(listener) {
      escalationListeners.add(listener);
      return () => void escalationListeners.delete(listener);
    },
    observe: loop.observe,
  };
}

function createRooms(context: HostContext, escalationListeners: ReadonlySet<EscalationListener>): Rooms {
  const outbox = createOutbox(context);
  const evaluations = createEvaluations(context);
  return {
    outbox,
    evaluations,
    escalationListeners,
    checks: createPendingChecks(context),
    deadLetters: createDeadLetters(context),
    foldNote: createFoldNote(context),
    membership: createMembership(context),
    notices: createNotices(context),
    policies: createPolicyPublisher(context),
    takeover: createTakeover(context, outbox, evaluations),
    timers: createTimers(context),
  };
}

/** Room for one more request. @throws AppError service.busy, log.lost, log.unavailable */
function admit({ lost, decisionWaiters, evaluationWaiters, openRequestsMax }: HostContext): void {
  lost.signal.throwIfAborted();
  const open = decisionWaiters.size + evaluationWaiters.size;
  if (open < openRequestsMax) return;
  throw new AppError('service.busy', `${open} requests are open, the most that this replica takes`);
}

function faultOf(context: HostContext): AppError | null {
  if (context.bus.isConnected()) return lossOf(context);
  return lossOf(context) ?? new AppError('log.unavailable', 'the connection to NATS is broken');
}
