/** Everything that the parts of a host share: the fold, the ways to the outside, and who waits for what. */
import {
  createFleet,
  type Decision,
  type Fleet,
  type HookResult,
  type HookRun,
  type Rules,
  type UsageReport,
} from '../../machines/index.ts';
import type { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Bus } from '../nats/bus.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import type { FoldStart } from '../nats/snapshots/find-start.ts';
import type { SnapshotInfo } from '../nats/snapshots/snapshot-bucket.ts';
import type { SnapshotStore } from '../nats/snapshots/snapshot-store.ts';
import type { LogTrimmer } from '../nats/snapshots/snapshots.ts';
import { createTimerQueue, type TimerQueue } from '../timer.ts';
import type { RunCheck } from './effects/workspace-check.ts';
import { createFoldProgress, type FoldProgress } from './fold/fold-progress.ts';
import { createLogClock, type LogClock } from './fold/log-clock.ts';
import { createRefusals, type Refusals } from './fold/refusals.ts';
import { type Admission, type Bound, createAdmission } from './intake/admission.ts';
import { type AttemptTraces, createAttemptTraces } from './intake/attempt-traces.ts';
import { createReplyInboxes, createWaiters, expectEntry, type ReplyInboxes, type Waiters } from './intake/waiters.ts';
import { createLifecycle, type Lifecycle } from './lifecycle.ts';
import { createLogHealth, type LogHealth } from './maintenance/log-health.ts';
import type { SnapshotSchedule } from './maintenance/snapshots.ts';
import { createOwnEntries, type OwnEntries } from './own-entries.ts';

export type HostMetrics = {
  folded(subject: string): void;
  decided(decision: Decision): void;
  refused(type: string): void;
  dead(code: string): void;
  policyConflict(): void;
  /** Something was refused because a bound was reached. */
  bounded(bound: Bound): void;
  hookRan(run: HookRun): void;
  /** Counts a report. Of all replicas of the fleet, only one is called for it. */
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
  /** This machine's clock, milliseconds since 1970. If it is set back, timers are late by as much. */
  readonly clock: () => number;
  readonly newId: () => string;
  /** The log may take this long to deliver an entry that was sent to it; then the caller gets 503. */
  readonly entryTimeoutMs: number;
  readonly openRequestsMax: number;
  /** Default: those of this release. */
  readonly rules?: readonly Rules[] | undefined;
  /** The last version of the rules that this replica says it knows; default: all it does. */
  readonly rulesMax?: number | undefined;
  readonly openReadsMax: number;
  /** Replicas say this often that they live. Default: 1,000. */
  readonly beatEveryMs?: number | undefined;
  /** Decisions made that the log has not delivered yet: past it no more are asked for. Default: 32,768. */
  readonly unconfirmedDecisionsMax?: number | undefined;
  /** The fold begins at this snapshot; null: at the log's first entry. */
  readonly start: FoldStart | null;
  /** It is null if no snapshots are taken. */
  readonly snapshotStore: SnapshotStore | null;
  /** Default: the one of protocol.md §15. */
  readonly snapshotSchedule?: SnapshotSchedule | undefined;
  /** The snapshots of this log as it is now that a start can continue from, newest first. Each is read for that. */
  readonly usableSnapshots: () => AsyncIterable<SnapshotInfo>;
  /** It is null if the log is never cut. */
  readonly trimmer: LogTrimmer | null;
  /** Nothing more can be folded, or, with `isNameTaken`, another replica has the name: this one must end. */
  readonly onBroken: (isNameTaken: boolean) => void;
};

export type HostContext = Omit<HostOptions, 'fleet' | 'rules'> & {
  readonly fleet: Fleet;
  readonly lifecycle: Lifecycle;
  readonly progress: FoldProgress;
  readonly logClock: LogClock;
  readonly logHealth: LogHealth;
  readonly entries: OwnEntries;
  /**
   * Admits requests that store something, those that only read, and those that judge and store nothing, which may wait for a
   * check: none takes the places of the others.
   */
  readonly admission: { readonly writes: Admission; readonly reads: Admission; readonly trials: Admission };
  /** Callers of `attempt`: by message id until the entry is folded, then by `attemptMessageId`. */
  readonly decisionWaiters: Waiters<Decision>;
  /** Callers of `evaluate`: by message id until the entry is folded, then by task and attempt. */
  readonly evaluationWaiters: Waiters<HookResult>;
  readonly replyInboxes: ReplyInboxes;
  readonly refusals: Refusals;
  /** Its timers last half of `entryTimeoutMs`. */
  readonly entryWaits: TimerQueue;
  readonly traces: AttemptTraces;
};

export function createHostContext(options: HostOptions): HostContext {
  const { start, rules } = options;
  const fleet = start?.fleet ?? createFleet(options.fleet, { rules });
  const { log, bus, replica } = options;
  // It moves the log's clock and has no other effect, whether there is such a worker or not.
  const target = `stopgate.${fleet.name}.own.worker.${replica}.timer.fired`;
  const tryEntry = () => log.append(target, '{"timer":"stale"}', { replica });
  const onSetBack = (byMs: number) =>
    options.logger.warn({ byMs }, 'the clock of the NATS server was set back: deadlines wait until it has caught up');
  const logHealth = createLogHealth({ log, bus, tryEntry });
  const lifecycle = createLifecycle(options.clock);
  const progress = createFoldProgress(start?.position);
  const entryWaits = createTimerQueue(options.entryTimeoutMs / 2);
  const expect = (onLate: () => void) => expectEntry({ bus, progress, entryWaits }, onLate);
  const decisionWaiters = createWaiters<Decision>(expect);
  const evaluationWaiters = createWaiters<HookResult>(expect);
  const giveUpOldest = (error: AppError) => decisionWaiters.failOldest(error) || evaluationWaiters.failOldest(error);
  const clock = () => performance.now();
  const onBound = options.metrics.bounded;
  return {
    ...options,
    log: logHealth.log,
    logHealth,
    fleet,
    lifecycle,
    progress,
    entries: createOwnEntries({ ...options, fleet, log: logHealth.log, lifecycle, progress }),
    logClock: createLogClock(fleet, options.clock, onSetBack),
    admission: {
      writes: createAdmission({ openMax: options.openRequestsMax, clock, giveUpOldest, onBound }),
      reads: createAdmission({ openMax: options.openReadsMax, clock, onBound }),
      trials: createAdmission({ openMax: options.openReadsMax, clock, onBound }),
    },
    decisionWaiters,
    evaluationWaiters,
    entryWaits,
    replyInboxes: createReplyInboxes(),
    refusals: createRefusals(),
    traces: createAttemptTraces({
      fleet: fleet.name,
      replica,
      clock: options.clock,
      agentOf: (worker) => fleet.workers.read(worker)?.snapshot.context.worker.agent ?? null,
    }),
  };
}
