/**
 * Host: folds the log into the fleet and carries out what the fold asks for. Until it reaches the log's head it only
 * reads; from then on it sends decisions, answers, checks and timers. Only an entry that came back from the log changes
 * state.
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
import { restoreHostState, type SnapshotTaken } from './maintenance/snapshots.ts';
import { createHostParts, type HostOptions } from './parts.ts';
import { createStanding, type Standing } from './standing.ts';
import { createStartStop } from './start-stop.ts';

export type Host = {
  readonly fleet: Fleet;
  /** Folds the history and continues what it left open. */
  start(): Promise<void>;
  /** Asks for the decision of an attempt. `reply` is called once, perhaps before this returns. */
  readonly attempt: Attempts['open'];
  readonly completion: PastDecisions['completion'];
  readonly evaluate: Evaluations['evaluate'];
  /** Runs `work`, which stores an entry about `actor`. @throws AppError log.unavailable, log.lost, service.busy */
  write<Result>(actor: string, work: () => Promise<Result>): Promise<Result>;
  /** Runs `work`, which only reads. @throws AppError service.busy */
  read<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs `work`, which judges `actor` and stores nothing. `signal`: the probe has given way, and nobody waits for it.
   * @throws AppError service.busy
   */
  probe<Result>(actor: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
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
    standing: createStanding(parts),
    observe: parts.observers.add,
    takeSnapshot: parts.snapshots.take,
    setRetention: parts.retention.configure,
  };
}
