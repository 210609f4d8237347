/**
 * The host folds the log into the fleet and performs the effects that the state asks for. Before it reaches the log's
 * head it only reads; from there on it sends decisions, answers, checks and timers. State changes only when the host
 * folds an entry that it has read from the log.
 */
import type { Fleet } from '../../machines/index.ts';
import type { PolicyForm, RetentionRules } from '../config/file.ts';
import type { AppError } from '../errors.ts';
import { notNeeded } from '../timer.ts';
import type { Checks } from './effects/checks.ts';
import type { EscalationRules } from './effects/notices.ts';
import type { PendingReply } from './effects/pending-replies.ts';
import { createFoldLoop } from './fold/fold-loop.ts';
import type { Observe } from './fold/observers.ts';
import type { Attempts } from './intake/attempts.ts';
import type { Evaluations } from './intake/evaluations.ts';
import type { PastDecisions } from './intake/past-decisions.ts';
import { catchUpInTime, faultOf, foldInTime } from './intake/read-barrier.ts';
import { restoreHostState, type SnapshotTaken } from './maintenance/snapshot-taker.ts';
import { createHostParts, type HostOptions } from './parts.ts';
import { createServiceHealth, type ServiceHealth } from './service-health.ts';
import { createStartStop } from './start-stop.ts';

export type Host = {
  readonly fleet: Fleet;
  /** Folds the history, then resumes open attempts, checks and timers. */
  start(): Promise<void>;
  /** Requests the decision of an attempt. Calls `reply` once, possibly before this returns. */
  readonly attempt: Attempts['open'];
  readonly completion: PastDecisions['completion'];
  readonly evaluate: Evaluations['evaluate'];
  /** Runs `work`, which stores an entry about `actor`. @throws AppError log.unavailable, log.lost or service.busy */
  write<Result>(actor: string, work: () => Promise<Result>): Promise<Result>;
  /** Runs `work`, which only reads. @throws AppError service.busy */
  read<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs `work`, which judges `actor` without storing anything. `signal` aborts when the probe has been evicted for
   * another.
   * @throws AppError service.busy
   */
  probe<Result>(actor: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Resolves when every entry stored before the call is folded. @throws AppError log.lost or log.unavailable */
  caughtUp(): Promise<void>;
  /** Resolves when everything up to `seq` is folded, without asking the log for its head. @throws as `caughtUp` does */
  foldedTo(seq: number): Promise<void>;
  /**
   * Returns why the fold refused entry `seq` about this actor. Null if it did not, or if the reason is evicted by now.
   */
  refusal(seq: number, entity: string, id: string): string | null;
  logNow(): number;
  /** Returns the latest `pending` reply of the check that the worker waits for, or null. */
  pendingReply(worker: string): PendingReply | null;
  setPolicies(form: PolicyForm): void;
  setEscalation(rules: EscalationRules): void;
  /** Calls a check for a probe and stores nothing. Never rejects. */
  callCheck: Checks['call'];
  /** Returns why no decision can be made now, or null. */
  fault(): AppError | null;
  /** The state of the service itself: outage, replicas and use of its bounds. */
  readonly health: ServiceHealth;
  readonly foldedSeq: () => number;
  /** The highest sequence number of the log that this replica knows of. */
  readonly lastSeq: () => number;
  readonly observe: Observe;
  /** Takes a snapshot of the current state. @throws AppError log.unavailable */
  takeSnapshot(): Promise<SnapshotTaken>;
  setRetention(rules: RetentionRules): void;
  close(): Promise<void>;
};

export function createHost(options: HostOptions): Host {
  const parts = createHostParts(options);
  if (options.start !== null) restoreHostState(parts, parts, options.start);
  const { start, close } = createStartStop(parts, createFoldLoop(parts));
  const { fleet, logClock, progress, admission, gate, newId } = parts;
  return {
    fleet,
    start,
    close,
    attempt: parts.attempts.open,
    completion: parts.pastDecisions.completion,
    evaluate: parts.evaluations.evaluate,
    write: (actor, work) => gate.run({ actor, key: newId() }, work),
    read: (work) => admission.reads.run({ actor: null, key: newId() }, work),
    async probe(actor, work) {
      const abort = new AbortController();
      try {
        return await admission.probes.run({ actor, key: newId() }, () => work(abort.signal));
      } finally {
        abort.abort(notNeeded);
      }
    },
    caughtUp: () => catchUpInTime(parts),
    foldedTo: (seq) => foldInTime(parts, seq),
    refusal: (seq, entity, id) => parts.refusals.of(seq, `${entity}.${id}`),
    logNow: logClock.now,
    pendingReply: parts.pendingReplies.of,
    foldedSeq: () => progress.seq,
    lastSeq: () => Math.max(progress.seq, parts.log.lastSeq()),
    callCheck: parts.checks.call,
    setPolicies: parts.policies.set,
    setEscalation: parts.notices.configure,
    fault: () => faultOf(parts),
    health: createServiceHealth(parts),
    observe: parts.observers.add,
    takeSnapshot: parts.snapshots.take,
    setRetention: parts.retention.configure,
  };
}
