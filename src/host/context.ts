/** What the parts of a host share: the fold, the ways to the outside, and who waits for what. */
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
import type { EventLog } from '../nats/event-log.ts';
import type { FoldStart } from '../nats/snapshots/find-start.ts';
import type { LogTrimmer } from '../nats/snapshots/log-trimmer.ts';
import type { SnapshotInfo } from '../nats/snapshots/snapshot-bucket.ts';
import type { SnapshotStore } from '../nats/snapshots/snapshot-store.ts';
import { type Admission, createAdmission } from './admission.ts';
import { type AttemptTraces, createAttemptTraces } from './attempt-traces.ts';
import { createFoldProgress, type FoldProgress } from './fold-progress.ts';
import { createLogClock, type LogClock } from './log-clock.ts';
import { createLogHealth, type LogHealth } from './log-health.ts';
import { createPauseWatch, type PauseWatch } from './pause-watch.ts';
import { createPendingReplies, type PendingReplies } from './pending-replies.ts';
import { createReplyInboxes, type ReplyInboxes } from './reply-inboxes.ts';
import type { RunCheck } from './run-request.ts';
import { createWaiters, type Waiters } from './waiters.ts';

export type HostMetrics = {
  folded(subject: string): void;
  decided(decision: Decision): void;
  refused(type: string): void;
  dead(code: string): void;
  policyConflict(): void;
  hookRan(run: HookRun): void;
  /** Of all replicas of the fleet only one is told of a report. */
  used(report: UsageReport): void;
};

/** When a snapshot is taken: it is due after `everyEntries`, or after `quietMs` if `quietEntries` are new. */
export type SnapshotSchedule = {
  readonly everyEntries: number;
  readonly quietEntries: number;
  readonly quietMs: number;
  readonly checkEveryMs: number;
  /** Another replica takes it if the one whose turn it is has not done so for this long. */
  readonly standbyMs: number;
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
  /** How long the log may take to deliver an entry that was sent to it; then the caller gets 503. */
  readonly entryTimeoutMs: number;
  readonly openRequestsMax: number;
  /** Default: those of this release. */
  readonly rules?: readonly Rules[] | undefined;
  /** The last version of the rules that this replica says it knows; default: all it does. */
  readonly rulesMax?: number | undefined;
  readonly openReadsMax: number;
  /** Decisions made that the log has not delivered yet: past it no more are asked for. Default: 32,768. */
  readonly unconfirmedDecisionsMax?: number | undefined;
  /** Where the fold begins; null: at the log's first entry. */
  readonly start: FoldStart | null;
  /** Null: no snapshots are taken. */
  readonly snapshotStore: SnapshotStore | null;
  /** Default: the one of protocol.md §15. */
  readonly snapshotSchedule?: SnapshotSchedule | undefined;
  /** The snapshots of this log as it is now that a start can continue from, newest first. Each is read for that. */
  readonly usableSnapshots: () => AsyncIterable<SnapshotInfo>;
  /** Null: the log is never cut. */
  readonly trimmer: LogTrimmer | null;
  /** Nothing more can be folded, or, with `isNameTaken`, another replica has the name: this one must end. */
  readonly onBroken: (isNameTaken: boolean) => void;
};

/**
 * `behind`: the log is read up to its head, and nothing goes out; so at the start, and after each reconnect or pause.
 * `head`: decisions, answers, checks and timers go out. `closing`: what has begun is finished, nothing else begins.
 * `leaving`: it ends before it has reached the head, so nothing goes out any more. `lost`: nothing that was folded may be
 * used.
 */
export type Phase = 'behind' | 'head' | 'closing' | 'leaving' | 'lost';

export type HostContext = Omit<HostOptions, 'fleet' | 'rules'> & {
  readonly fleet: Fleet;
  /** Only `lifecycle.ts` changes it. */
  phase: Phase;
  /** Something may be stored that is not folded: nothing goes out until it is. Only `lifecycle.ts` sets it. */
  fallBehind: (why: string) => void;
  /** Why it is not known where the log ends; null: it is. Only `lifecycle.ts` sets it. */
  silence: AppError | null;
  /** The log was folded to its head once: from then on requests are taken. */
  hasStarted: boolean;
  readonly pauses: PauseWatch;
  /** Aborted with an AppError, once, when the log is lost or the fold has failed. */
  readonly lost: AbortController;
  readonly progress: FoldProgress;
  readonly logClock: LogClock;
  readonly logHealth: LogHealth;
  /** Of requests that store something, and of those that only read: neither takes the places of the other. */
  readonly admission: { readonly writes: Admission; readonly reads: Admission };
  /** Callers of `attempt`: by message id until the entry is folded, then by `attemptMessageId`. */
  readonly decisionWaiters: Waiters<Decision>;
  /** Callers of `evaluate`: by message id until the entry is folded, then by task and attempt. */
  readonly evaluationWaiters: Waiters<HookResult>;
  readonly replyInboxes: ReplyInboxes;
  readonly pendingReplies: PendingReplies;
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
  return {
    ...options,
    log: logHealth.log,
    logHealth,
    fleet,
    phase: 'behind',
    fallBehind: () => {},
    silence: null,
    hasStarted: false,
    pauses: createPauseWatch(options.clock),
    lost: new AbortController(),
    progress: createFoldProgress(start?.position),
    logClock: createLogClock(fleet, options.clock, onSetBack),
    admission: {
      writes: createAdmission({ openMax: options.openRequestsMax, clock: () => performance.now() }),
      reads: createAdmission({ openMax: options.openReadsMax, clock: () => performance.now() }),
    },
    decisionWaiters: createWaiters(),
    evaluationWaiters: createWaiters(),
    replyInboxes: createReplyInboxes(),
    pendingReplies: createPendingReplies(fleet, replica, bus),
    traces: createAttemptTraces(options),
  };
}

/** Effects of the fold may go out. */
export function isAtHead(context: HostContext): boolean {
  if (context.phase === 'head' && context.pauses.hasPaused())
    context.fallBehind('this process did not run for a while');
  return context.phase === 'head' || context.phase === 'closing';
}

/** An entry that is not stored yet may be tried again. */
export const isRunning = ({ phase }: HostContext): boolean => phase === 'behind' || phase === 'head';

/** Why nothing can be decided any more, or null. */
export const lossOf = ({ lost: { signal } }: HostContext): AppError | null =>
  signal.aborted ? (signal.reason as AppError) : null;

/** `stopgate.<fleet>.<tail>` */
export const subject = ({ fleet }: HostContext, tail: string): string => `stopgate.${fleet.name}.${tail}`;
