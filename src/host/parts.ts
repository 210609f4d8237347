/**
 * The parts of a host. `createHostParts` creates all of them, each from parts created before it. The fold loop, start
 * and stop, and the host's public methods receive the whole set.
 */
import {
  createFleet,
  type Decision,
  type Fleet,
  type HookResult,
  type HookRun,
  type RulesVersion,
  type UsageReport,
} from '../../machines/index.ts';
import type { Logger } from '../log.ts';
import type { Bus } from '../nats/bus.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import type { LogTrimmer } from '../nats/log/log-trimmer.ts';
import type { FoldStart } from '../nats/snapshots/find-start.ts';
import type { SnapshotInfo } from '../nats/snapshots/snapshot-bucket.ts';
import type { SnapshotStore } from '../nats/snapshots/snapshot-store.ts';
import { createTimerQueue, type TimerQueue } from '../timer.ts';
import { type Checks, createChecks } from './effects/checks.ts';
import { createEffects, type Effects } from './effects/effects.ts';
import { createNotices, type Notices } from './effects/notices.ts';
import { createPendingReplies, type PendingReplies } from './effects/pending-replies.ts';
import { createTakeover, type Takeover } from './effects/takeover.ts';
import { createTimers, type Timers } from './effects/timers.ts';
import type { RunCheck } from './effects/workspace-check.ts';
import { createDeadLetters, type DeadLetters } from './fold/dead-letters.ts';
import { createFoldProgress, type FoldProgress } from './fold/fold-progress.ts';
import { createLogClock, type LogClock } from './fold/log-clock.ts';
import { createObservers, type Observers } from './fold/observers.ts';
import { createOutbox, type Outbox } from './fold/outbox.ts';
import { createRefusals, type Refusals } from './fold/refusals.ts';
import { type Admission, type Bound, createAdmission } from './intake/admission.ts';
import { type AttemptTraces, createAttemptTraces } from './intake/attempt-traces.ts';
import { type Attempts, createAttempts } from './intake/attempts.ts';
import { expectEntry } from './intake/entry-wait.ts';
import { createEvaluations, type Evaluations } from './intake/evaluations.ts';
import { createPastDecisions, type PastDecisions } from './intake/past-decisions.ts';
import { createRepeatedAttempts, type RepeatedAttempts } from './intake/repeated-attempts.ts';
import { createReplyInboxes, type ReplyInboxes } from './intake/reply-inboxes.ts';
import { createWaiters, type Waiters } from './intake/waiters.ts';
import { createWriteGate, type WriteGate } from './intake/write-gate.ts';
import { createLifecycle, type Lifecycle } from './lifecycle.ts';
import { createFoldNote, type FoldNote } from './maintenance/fold-note.ts';
import { createLogHealth, type LogHealth } from './maintenance/log-health.ts';
import { createRetention, type Retention } from './maintenance/log-retention.ts';
import { createLogWatch, type LogWatch } from './maintenance/log-watch.ts';
import { createMembership, type Membership } from './maintenance/membership.ts';
import { createPolicyPublisher, type PolicyPublisher } from './maintenance/policy-publisher.ts';
import { createSnapshotTaker, type SnapshotSchedule, type SnapshotTaker } from './maintenance/snapshot-taker.ts';
import { createOwnEntries, type OwnEntries } from './own-entries.ts';

export type HostMetrics = {
  folded(subject: string): void;
  decided(decision: Decision): void;
  refused(type: string): void;
  dead(code: string): void;
  policyConflict(): void;
  /** Counts a request that was refused or evicted because a bound was reached. */
  bounded(bound: Bound): void;
  hookRan(run: HookRun): void;
  /** Counts a usage report. Called on one replica of the fleet only. */
  used(report: UsageReport): void;
};

export type HostOptions = {
  readonly fleet: string;
  readonly replica: string;
  readonly log: EventLog;
  readonly bus: Bus;
  readonly runCheck: RunCheck;
  readonly logger: Logger;
  readonly metrics: HostMetrics;
  /** This machine's clock, in milliseconds since 1970. If it is set back, timers are late by that much. */
  readonly clock: () => number;
  readonly newId: () => string;
  /** How long the log may take to deliver an entry that we have sent. After that the caller gets a 503. */
  readonly entryTimeoutMs: number;
  readonly openRequestsMax: number;
  /** Versions of the rules that this replica knows. Default: those of this release. */
  readonly rules?: readonly RulesVersion[] | undefined;
  /** The highest rules version that this replica announces. Default: the highest it knows. */
  readonly rulesMax?: number | undefined;
  readonly openReadsMax: number;
  /** Interval of this replica's heartbeat. Default: 1,000. */
  readonly beatEveryMs?: number | undefined;
  /**
   * Maximum number of decisions that the log has not delivered yet. At the limit, requests are refused. Default:
   * 32,768.
   */
  readonly unconfirmedDecisionsMax?: number | undefined;
  /** The snapshot to start the fold from. Null to start at the log's first entry. */
  readonly start: FoldStart | null;
  /** Null if no snapshots are taken. */
  readonly snapshotStore: SnapshotStore | null;
  /** Default: the schedule of protocol.md §15. */
  readonly snapshotSchedule?: SnapshotSchedule | undefined;
  /** Yields the snapshots that a start could continue from now, newest first. Reads each one to verify it. */
  readonly usableSnapshots: () => AsyncIterable<SnapshotInfo>;
  /** Null if the log is never trimmed. */
  readonly trimmer: LogTrimmer | null;
  /** Called when this replica must end: the fold cannot continue, or another replica has its name (`isNameTaken`). */
  readonly onBroken: (isNameTaken: boolean) => void;
};

/** `log` is the log of the options, wrapped by `logHealth`. */
export type HostParts = Omit<HostOptions, 'fleet' | 'rules'> & {
  readonly fleet: Fleet;
  readonly lifecycle: Lifecycle;
  readonly progress: FoldProgress;
  readonly logClock: LogClock;
  readonly logHealth: LogHealth;
  readonly entries: OwnEntries;
  readonly observers: Observers;
  readonly refusals: Refusals;
  readonly outbox: Outbox;
  readonly deadLetters: DeadLetters;

  /** Its timers fire after half of `entryTimeoutMs`. */
  readonly entryWaits: TimerQueue;
  readonly decisionWaiters: Waiters<Decision>;
  readonly evaluationWaiters: Waiters<HookResult>;
  /**
   * Separate limits for requests that store something, for reads, and for probes, which store nothing but may wait for
   * a check. No kind can crowd out another.
   */
  readonly admission: { readonly writes: Admission; readonly reads: Admission; readonly probes: Admission };
  readonly gate: WriteGate;
  readonly replyInboxes: ReplyInboxes;
  readonly traces: AttemptTraces;
  readonly pastDecisions: PastDecisions;
  readonly repeatedAttempts: RepeatedAttempts;
  readonly attempts: Attempts;
  readonly evaluations: Evaluations;

  readonly pendingReplies: PendingReplies;
  readonly checks: Checks;
  readonly timers: Timers;
  readonly notices: Notices;
  readonly effects: Effects;

  readonly membership: Membership;
  readonly takeover: Takeover;
  readonly policies: PolicyPublisher;
  readonly retention: Retention;
  readonly snapshots: SnapshotTaker;
  readonly foldNote: FoldNote;
  readonly logWatch: LogWatch;
};

export function createHostParts(options: HostOptions): HostParts {
  const { bus, replica, logger, metrics, newId, start } = options;

  // The fold, the way to the log, and what leaves the fold.
  const fleet = start?.fleet ?? createFleet(options.fleet, { rules: options.rules });
  const lifecycle = createLifecycle(options.clock);
  const progress = createFoldProgress(start?.position);
  const logClock = createLogClock(fleet, options.clock, (byMs) =>
    logger.warn({ byMs }, 'the clock of the NATS server was set back: deadlines wait until it has caught up'),
  );
  // A harmless probe entry: it only advances the log clock.
  const probeSubject = `stopgate.${fleet.name}.own.worker.${replica}.timer.fired`;
  const probe = () => options.log.append(probeSubject, '{"timer":"stale"}', { replica });
  const logHealth = createLogHealth({ log: options.log, bus, probe });
  const log = logHealth.log;
  const entries = createOwnEntries({ fleet, replica, log, lifecycle, progress, newId, logger });
  const core = { ...options, fleet, lifecycle, progress, logClock, logHealth, log, entries };
  const observers = createObservers(fleet, logger);
  const refusals = createRefusals();
  const outbox = createOutbox(core);
  const deadLetters = createDeadLetters(core);

  // Requests.
  const entryWaits = createTimerQueue(options.entryTimeoutMs / 2);
  const expect = (onLate: () => void) => expectEntry({ bus, progress, entryWaits }, onLate);
  const decisionWaiters = createWaiters<Decision>(expect);
  const evaluationWaiters = createWaiters<HookResult>(expect);
  const admit = (openMax: number) =>
    createAdmission({ openMax, clock: () => performance.now(), onBound: metrics.bounded });
  const admission = {
    writes: admit(options.openRequestsMax),
    reads: admit(options.openReadsMax),
    probes: admit(options.openReadsMax),
  };
  const gate = createWriteGate({ ...core, entryWaits, admission: admission.writes });
  const replyInboxes = createReplyInboxes();
  const traces = createAttemptTraces({
    fleet: fleet.name,
    replica,
    clock: options.clock,
    agentOf: (worker) => fleet.workers.read(worker)?.snapshot.context.worker.agent ?? null,
  });
  const pastDecisions = createPastDecisions({ ...core, entryWaits, outbox });
  const waiters = decisionWaiters;
  const repeatedAttempts = createRepeatedAttempts({ ...core, waiters, replyInboxes, pastDecisions });
  const attempts = createAttempts({
    ...core,
    entryWaits,
    gate,
    outbox,
    traces,
    waiters,
    replyInboxes,
    repeatedAttempts,
  });
  const evaluations = createEvaluations({ ...core, gate, waiters: evaluationWaiters });

  // Effects.
  const pendingReplies = createPendingReplies(fleet, replica, bus, observers.pending);
  const checks = createChecks({ ...core, traces, pendingReplies, onRefused: attempts.fail });
  const timers = createTimers(core);
  const notices = createNotices(core);
  const performers = { check: checks.check, hook: checks.hook, notice: notices, timer: timers };
  const effects = createEffects({ ...core, performers });

  // Maintenance.
  const membership = createMembership(core);
  const takeover = createTakeover({ ...core, effects, outbox, isLagging: membership.isLagging });
  const policies = createPolicyPublisher(core);
  const retention = createRetention(core, deadLetters);
  const snapshots = createSnapshotTaker({ ...core, replyInboxes }, { outbox, policies, deadLetters, retention });
  const foldNote = createFoldNote(core);
  const logWatch = createLogWatch(core);

  return {
    ...core,
    observers,
    refusals,
    outbox,
    deadLetters,
    entryWaits,
    decisionWaiters,
    evaluationWaiters,
    admission,
    gate,
    replyInboxes,
    traces,
    pastDecisions,
    repeatedAttempts,
    attempts,
    evaluations,
    pendingReplies,
    checks,
    timers,
    notices,
    effects,
    membership,
    takeover,
    policies,
    retention,
    snapshots,
    foldNote,
    logWatch,
  };
}
