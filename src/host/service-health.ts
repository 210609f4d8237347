/**
 * The health of the service itself: whether this replica judges, since when it does not and why, the replicas of the
 * fleet, and how much of each bound is used. Read-only.
 */
import { ownerFor } from '../../machines/index.ts';
import type { RetentionRules } from '../config/file.ts';
import type { AppError } from '../errors.ts';
import type { ServerState } from '../nats/bus.ts';
import { type OutageKind, outageOf } from './intake/read-barrier.ts';
import type { Heard } from './maintenance/membership.ts';
import type { HostParts } from './parts.ts';

/**
 * Why this replica judges nothing now. `sinceMs` is a time of the log's clock. `judges` names another replica that
 * judges, or is null if none is known.
 */
export type Outage = {
  readonly kind: OutageKind;
  readonly sinceMs: number;
  readonly error: AppError;
  readonly judges: string | null;
};

/**
 * `judging`: alive and keeping up with the log. `behind`: alive, but not keeping up. `not-judging`: this replica,
 * during an outage. `silent`: no heartbeat for three intervals. `unknown`: this replica hears nobody now. Times are of
 * the log's clock, null if unknown.
 */
export type ReplicaHealth = {
  readonly name: string;
  readonly isSelf: boolean;
  readonly state: 'judging' | 'behind' | 'not-judging' | 'silent' | 'unknown';
  readonly joinedMs: number;
  readonly heardMs: number | null;
  readonly foldedSeq: number | null;
  /** Number of entries that it had not folded at its last heartbeat. */
  readonly behind: number | null;
  /** Duties that it performs for the whole fleet: `snapshots`, `retention`. Attempts are distributed by their ids. */
  readonly duties: readonly string[];
};

/** How much of a bound is used. */
export type BoundUse = { readonly bound: string; readonly used: number; readonly max: number };

export type HealthReport = {
  readonly outage: Outage | null;
  /** Since when this replica judges: since its start or its last outage. Null if it does not judge. */
  readonly judgesSinceMs: number | null;
  readonly replicas: readonly ReplicaHealth[];
  readonly server: ServerState;
  readonly retention: RetentionRules;
  readonly bounds: readonly BoundUse[];
};

export type ServiceHealth = {
  /** Cheap: called ten times a second. */
  outage(): Outage | null;
  read(): HealthReport;
};

/** Three heartbeat intervals, so that a heartbeat that is only late does not count as missed. */
const silentAfterMs = 3_000;

export function createServiceHealth(parts: HostParts): ServiceHealth {
  const { bus, clock, fleet, logClock, lifecycle, progress, replica } = parts;
  let sinceMs: number | null = clock();
  let judgesSinceMs: number | null = null;
  const outage = (): Outage | null => {
    const found = outageOf(parts);
    sinceMs = found === null ? null : (sinceMs ?? clock());
    judgesSinceMs = found === null ? (judgesSinceMs ?? clock()) : null;
    if (found === null) return null;
    const judges = found.kind === 'log-lost' ? null : (others().find(({ state }) => state === 'judging')?.name ?? null);
    return { ...found, sinceMs: toLogTime(sinceMs as number), judges };
  };
  // Records the beginning of an outage even if nobody reads the health at that time.
  lifecycle.watch(outage);
  parts.membership.watch(outage);
  /** Converts from this machine's clock to the log's. */
  const toLogTime = (ms: number) => logClock.now() - (clock() - ms);
  const dutiesOf = (name: string) => ['snapshots', 'retention'].filter((duty) => ownerFor(fleet, duty, null) === name);
  const otherOf = (name: string, heard: Heard | null): ReplicaHealth => {
    const isHearing = bus.isConnected() && lifecycle.phase !== 'lost';
    const isSilent = heard === null || clock() - heard.atMs > silentAfterMs;
    const behind = heard === null ? null : Math.max(0, heard.headSeq - heard.seq);
    return {
      name,
      isSelf: false,
      joinedMs: fleet.replicas.get(name) ?? 0,
      duties: dutiesOf(name),
      state: !isHearing || heard === null ? 'unknown' : isSilent ? 'silent' : heard.isLagging ? 'behind' : 'judging',
      heardMs: heard === null ? null : toLogTime(heard.atMs),
      foldedSeq: heard?.seq ?? null,
      behind: isSilent ? null : behind,
    };
  };
  const others = () =>
    [...fleet.replicas.keys()]
      .filter((name) => name !== replica)
      .map((name) => otherOf(name, parts.membership.heard(name)));
  const self = (current: Outage | null): ReplicaHealth => ({
    name: replica,
    isSelf: true,
    joinedMs: fleet.replicas.get(replica) ?? 0,
    duties: dutiesOf(replica),
    state: current === null ? 'judging' : current.kind === 'catching-up' ? 'behind' : 'not-judging',
    heardMs: logClock.now(),
    foldedSeq: progress.seq,
    // While the log does not answer, its end is unknown.
    behind: current === null || current.kind === 'catching-up' ? Math.max(0, parts.log.lastSeq() - progress.seq) : null,
  });
  return {
    outage,
    read() {
      const current = outage();
      const { writes, reads, probes } = parts.admission;
      return {
        outage: current,
        judgesSinceMs: judgesSinceMs === null ? null : toLogTime(judgesSinceMs),
        replicas: [self(current), ...others()].sort((a, b) => (a.name < b.name ? -1 : 1)),
        server: bus.server(),
        retention: parts.retention.rules(),
        bounds: [
          { bound: 'units of workers and tasks', used: fleet.stateSize, max: fleet.stateSizeMax },
          { bound: 'open attempts and entries', used: writes.open(), max: parts.openRequestsMax },
          { bound: 'open probes and verifications', used: probes.open(), max: parts.openReadsMax },
          { bound: 'open views', used: reads.open(), max: parts.openReadsMax },
          parts.outbox.unconfirmed(),
        ],
      };
    },
  };
}
