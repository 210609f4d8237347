/**
 * Host: folds the log into the fleet and does what the fold asks for. Up to the log's head it only reads; from there
 * on decisions, answers, checks and timers go out. It never changes state but by an entry that came back from the log.
 */
import {
  createFleet,
  type Decision,
  type EscalatedEntity,
  type Fleet,
  type HookResult,
  type Outcome,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Bus } from '../nats/bus.ts';
import type { EventLog } from '../nats/event-log.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { createBarriers, within } from './barriers.ts';
import { type HostContext, type HostMetrics, subject } from './context.ts';
import { createDeadLetters } from './dead-letters.ts';
import { createEffects, type Effects } from './effects.ts';
import { createEvaluations } from './evaluations.ts';
import { foldMessage } from './fold-message.ts';
import { createMembers } from './members.ts';
import { createNotices, type EscalationRules } from './notices.ts';
import { createOutbox } from './outbox.ts';
import { createPolicyPublisher, type PolicyForm } from './policy-publisher.ts';
import type { RunCheck } from './run-check.ts';
import { createTimers } from './timers.ts';
import { createWaiters } from './waiters.ts';

export type HostOptions = {
  readonly fleet: string;
  readonly replica: string;
  readonly log: EventLog;
  readonly bus: Bus;
  readonly runCheck: RunCheck;
  readonly logger: Logger;
  readonly metrics: HostMetrics;
  readonly clock: () => number;
  readonly newId: () => string;
  /** How long the log may take to deliver an attempt that was sent to it; then the caller gets 503. */
  readonly entryTimeoutMs: number;
  readonly openRequestsMax: number;
  /** Nothing more can be folded: this replica must end. */
  readonly onBroken: () => void;
};

export type Host = {
  readonly fleet: Fleet;
  /** Folds the history and takes up what it left open. */
  start(): Promise<void>;
  /** Appends an attempt, or finds the one of that id, and gives its decision. */
  attempt(worker: string, fields: { readonly attempt?: string | undefined }): Promise<Decision>;
  /** Appends an `iteration.validated` and gives what the task's hooks say. @throws AppError entry.refused, log.unavailable */
  evaluate(task: string, fields: object): Promise<HookResult>;
  /** Everything that the log held when this was called is folded. @throws AppError log.lost, log.unavailable */
  caughtUp(): Promise<void>;
  /** Everything up to `seq` is folded; the log is not asked how far it goes. @throws AppError as `caughtUp` does */
  foldedTo(seq: number): Promise<void>;
  logNow(): number;
  setPolicies(form: PolicyForm): void;
  setEscalation(rules: EscalationRules): void;
  readonly answer: Effects['answer'];
  /** Why nothing can be decided now, or null. */
  fault(): AppError | null;
  readonly foldedSeq: () => number;
  /** Tells of each escalation that has changed, from the log's head on. Call what it gives to end that. */
  onEscalation(listener: (entity: EscalatedEntity, id: string) => void): () => void;
  /** Tells of each message after it was folded; null: of none. */
  observe(onFolded: ((message: LogMessage) => void) | null): void;
  close(): Promise<void>;
};

const decoder = new TextDecoder();

export function createHost(options: HostOptions): Host {
  const { replica, log, bus, logger, metrics, clock } = options;
  const fleet = createFleet(options.fleet, { stopwatch: () => performance.now() });
  const waiters = createWaiters<Decision>();
  let atHead = false;
  let running = true;
  let lost: AppError | null = null;
  let foldedSeq = 0;
  /** This machine's clock minus the log's, the delivery included. */
  let skewMs: number | null = null;
  let reader: { close(): void } | null = null;
  const escalationListeners = new Set<(entity: EscalatedEntity, id: string) => void>();
  let observer: ((message: LogMessage) => void) | null = null;
  const barriers = createBarriers(() => foldedSeq);

  const logNow = () => Math.max(fleet.nowMs, Math.round(clock() - (skewMs ?? 0)));
  const context: HostContext = { fleet, replica, log, bus, logger, metrics, clock, logNow, atHead: () => atHead };
  const outbox = createOutbox(context);
  const isRunning = () => running;
  const deadLetters = createDeadLetters(context, isRunning);
  const effects = createEffects(context, options.runCheck, (worker, attempt, error) =>
    waiters.fail(`${worker}:${attempt}`, error),
  );
  const timers = createTimers(context);
  const evaluations = createEvaluations(context, options);
  const members = createMembers(context, outbox, evaluations, isRunning);
  const policies = createPolicyPublisher(context, isRunning);
  const notices = createNotices(context);
  const decisionSubjects = subject(context, 'decision.');

  /** A fold that throws is our own fault, and its state is not to be trusted any more: the process ends and says where. */
  const receive = (message: LogMessage) => {
    try {
      take(message);
    } catch (error) {
      logger.error({ err: error, seq: message.seq, subject: message.subject }, 'the fold failed');
      reader?.close();
      onLost(new AppError('log.unavailable', `the fold failed at entry ${message.seq}`));
      options.onBroken();
    }
  };

  const take = (message: LogMessage) => {
    const startedMs = performance.now();
    foldedSeq = message.seq;
    if (message.subject.startsWith(decisionSubjects)) noteDecision(message);
    else fold(message, startedMs);
    if (atHead) {
      const seen = clock() - message.atMs;
      skewMs = skewMs === null || seen < skewMs ? seen : skewMs + (seen - skewMs) * 0.05;
      timers.arm();
    }
    observer?.(message);
    barriers.moved();
  };

  const noteDecision = (message: LogMessage) => {
    const worker = message.subject.slice(decisionSubjects.length);
    const id = message.header('Nats-Msg-Id')?.slice(worker.length + 1, -':decision'.length);
    if (id === undefined) return;
    const known = fleet.workers.get(worker)?.known?.get(id);
    if (known !== undefined) known.decidedSeq = message.seq;
    outbox.published(worker, id);
  };

  const fold = (message: LogMessage, startedMs: number) => {
    const { read: entry, outcomes } = foldMessage(fleet, message);
    metrics.folded(message.subject);
    if (entry === null) return;
    if (!('data' in entry)) {
      deadLetters.put(message, entry);
      return;
    }
    if (entry.type === 'stop.attempted') meet(message, entry.id, entry.data.attempt ?? `seq-${message.seq}`);
    if (entry.type === 'iteration.validated')
      evaluations.met(message, entry.id, entry.data.attempt ?? `seq-${message.seq}`, refusalOf(outcomes, entry.type));
    if (entry.type === 'policy.set')
      policies.folded(JSON.parse(decoder.decode(message.data)), message.header('Stopgate-Replica'));
    for (const outcome of outcomes) follow(outcome, message, startedMs);
  };

  const isOpen = (worker: string, attempt: string) =>
    fleet.workers.get(worker)?.snapshot.context.worker.attempt?.attempt === attempt;
  const inboxes = new Map<string, string>();
  /** The entry of an attempt has come: whoever waits for it waits for its decision now. */
  const meet = (message: LogMessage, worker: string, attempt: string) => {
    const key = `${worker}:${attempt}`;
    const messageId = message.header('Nats-Msg-Id');
    // Only its own: else a worker could have another's caller wait for its decision.
    if (messageId?.startsWith(`${worker}:`)) waiters.met(messageId, key);
    waiters.met(key, key);
    const inbox = message.header('Stopgate-Reply');
    if (inbox !== undefined) inboxes.set(key, inbox);
  };

  const follow = (outcome: Outcome, message: LogMessage, startedMs: number) => {
    switch (outcome.kind) {
      case 'decided':
        decided(outcome.decision, message, startedMs);
        return;
      case 'asked':
      case 'accepted':
        if (atHead) effects.serve(outcome.worker);
        return;
      case 'repeated':
        if (atHead) void answerAgain(outcome.worker, outcome.attempt);
        else if (!isOpen(outcome.worker, outcome.attempt)) inboxes.delete(`${outcome.worker}:${outcome.attempt}`);
        return;
      case 'validated':
      case 'hookAsked':
        evaluations.follow(outcome);
        return;
      case 'hooksSaid':
        if (atHead) for (const opinion of outcome.opinions) metrics.hookSaid(opinion);
        return;
      case 'handedBack':
        if (atHead)
          logger.warn({ workerId: outcome.worker, taskId: outcome.task }, 'task of a stale worker handed back');
        return;
      case 'escalation':
        if (!atHead) return;
        notices.changed(outcome.entity, outcome.id);
        for (const tell of escalationListeners) tell(outcome.entity, outcome.id);
        return;
      case 'refused':
        // History was told when it was new.
        if (!atHead) return;
        metrics.refused(outcome.type);
        logger.info(
          { [outcome.entity]: outcome.id, type: outcome.type, reason: outcome.reason },
          'entry makes no sense now',
        );
        return;
    }
  };

  const decided = (bare: Decision, message: LogMessage, startedMs: number) => {
    const { worker, attempt } = bare;
    const key = `${worker}:${attempt}`;
    const record = fleet.workers.get(worker);
    const openedMs = record?.known?.get(attempt ?? '')?.atMs ?? message.atMs;
    const tookMs = Math.round((fleet.nowMs - openedMs + performance.now() - startedMs) * 1_000) / 1_000;
    const decision: Decision = { ...bare, replica, tookMs };
    const inbox = inboxes.get(key) ?? null;
    inboxes.delete(key);
    waiters.settle(key, decision);
    // Decided where it was folded: no effect came between.
    outbox.put(decision, record?.owner ?? null, inbox, decision.seq === message.seq);
    effects.drop(worker);
    if (!atHead) return;
    metrics.decided(decision);
    const line = { workerId: worker, attempt, seq: decision.seq, cause: decision.cause, reason: decision.reason };
    const inError = decision.verdicts.find(({ verdict }) => verdict === 'error');
    if (decision.cause === 'capped') logger.warn(line, 'stop allowed at the cap');
    else if (inError !== undefined) logger.warn({ ...line, detail: inError.detail }, 'a check could not be judged');
    else logger.info(line, decision.decision === 'allow' ? 'stop allowed' : 'stop blocked');
  };

  /** An attempt that came again by itself: who waits for it, at an inbox or here, gets the answer that it had. */
  const answerAgain = async (worker: string, attempt: string) => {
    const key = `${worker}:${attempt}`;
    const inbox = inboxes.get(key);
    if (isOpen(worker, attempt)) return;
    inboxes.delete(key);
    if (inbox === undefined && !waiters.has(key)) return;
    const decision = await findDecision(worker, attempt).catch(() => null);
    if (decision === null) {
      waiters.fail(key, new AppError('log.unavailable', `the decision of attempt ${attempt} cannot be read now`));
      return;
    }
    waiters.settle(key, decision);
    if (inbox !== undefined) bus.answer(inbox, JSON.stringify(decision));
  };

  /** The decision of an attempt that is known and no longer open. */
  const findDecision = async (worker: string, attempt: string): Promise<Decision | null> => {
    const waiting = outbox.find(worker, attempt);
    if (waiting !== null) return waiting;
    const seq = fleet.workers.get(worker)?.known?.get(attempt)?.decidedSeq ?? null;
    const text = seq === null ? null : await log.fetch(seq);
    return text === null ? null : (JSON.parse(text) as Decision);
  };

  const reachHead = async () => {
    await members.join();
    // What came while joining is folded too: the join itself has come back.
    await caughtUp();
    atHead = true;
    outbox.open();
    deadLetters.open();
    for (const worker of fleet.open) effects.serve(worker);
    evaluations.serve();
    await policies.open();
    await caughtUp();
    timers.arm();
    members.start();
    notices.open();
  };

  const caughtUp = async () => barriers.until(await log.lastSeq());
  const inTime = async (work: () => Promise<void>) => {
    if (lost !== null) throw lost;
    await within(options.entryTimeoutMs, work());
    if (lost !== null) throw lost;
  };

  const onLost = (error: AppError) => {
    if (lost !== null) return;
    lost = error;
    if (error.code === 'log.lost') logger.error({ err: error }, 'the log is lost');
    // Nothing that this fold holds may get into a log that was made anew.
    running = false;
    atHead = false;
    timers.close();
    effects.close();
    notices.close();
    members.stop();
    waiters.failAll(error);
    evaluations.failAll(error);
    evaluations.close();
    barriers.passAll();
  };

  const submitAttempt = (worker: string, fields: { readonly attempt?: string | undefined }, messageId: string) => {
    log.submit(
      subject(context, `worker.${worker}.stop.attempted`),
      JSON.stringify(fields),
      { messageId, replica },
      (answer) => {
        if (answer instanceof AppError) {
          if (answer.code === 'log.lost') onLost(answer);
          waiters.fail(messageId, answer);
        } else if (answer.seq <= foldedSeq && waiters.isUnmet(messageId)) {
          // Its place was folded already, and it was not there: either its id was that of an entry that was refused, or
          // this is another log.
          if (answer.duplicate) submitAttempt(worker, fields, `${messageId}:${options.newId()}`);
          else
            void log
              .lastSeq()
              .catch((error) => (error instanceof AppError && error.code === 'log.lost' ? onLost(error) : null));
        }
      },
    );
  };

  const checkRoom = () => {
    const open = waiters.size + evaluations.size;
    if (open < options.openRequestsMax) return;
    throw new AppError('service.busy', `${open} requests are open, the most that this replica takes`);
  };

  return {
    fleet,
    logNow,
    caughtUp: () => inTime(caughtUp),
    foldedTo: (seq) => inTime(() => barriers.until(seq)),
    answer: effects.answer,
    setPolicies: (form) => policies.set(form),
    setEscalation: notices.configure,
    fault: () =>
      lost ?? (bus.isConnected() ? null : new AppError('log.unavailable', 'the connection to NATS is broken')),
    foldedSeq: () => foldedSeq,
    onEscalation(listener) {
      escalationListeners.add(listener);
      return () => void escalationListeners.delete(listener);
    },
    observe(onFolded) {
      observer = onFolded;
    },
    async start() {
      reader = log.read(receive, onLost);
      await caughtUp();
      await reachHead();
    },
    async evaluate(task, fields) {
      if (lost !== null) throw lost;
      checkRoom();
      return evaluations.evaluate(task, fields);
    },
    async attempt(worker, fields) {
      if (lost !== null) throw lost;
      checkRoom();
      const { attempt } = fields;
      if (attempt !== undefined && fleet.workers.get(worker)?.known?.has(attempt)) {
        if (isOpen(worker, attempt)) return waiters.wait(`${worker}:${attempt}`, 0);
        const decision = await findDecision(worker, attempt);
        if (decision !== null) return decision;
        throw new AppError('log.unavailable', `the decision of attempt ${attempt} cannot be read from the log now`);
      }
      const messageId = `${worker}:${attempt ?? `~${options.newId()}`}`;
      const answer = waiters.wait(messageId, options.entryTimeoutMs);
      submitAttempt(worker, fields, messageId);
      return answer;
    },
    async close() {
      running = false;
      timers.close();
      effects.close();
      evaluations.close();
      notices.close();
      if (lost === null) await members.leave();
      reader?.close();
      const leaving = new AppError('log.unavailable', 'this replica is stopping; ask again');
      waiters.failAll(leaving);
      evaluations.failAll(leaving);
    },
  };
}

/** Why an entry of this type that was just folded makes no sense, or null. */
function refusalOf(outcomes: readonly Outcome[], type: string): string | null {
  for (const outcome of outcomes) if (outcome.kind === 'refused' && outcome.type === type) return outcome.reason;
  return null;
}
