/**
 * Shows the host to those who look at the service and not at its workers: whether it judges, since when it does not and
 * why, which replicas there are, and how much is open of what is bounded. It reads, and changes nothing.
 */
import { ownerFor } from '../../machines/index.ts';
import type { RetentionRules } from '../config/file.ts';
import type { AppError } from '../errors.ts';
import type { ServerState } from '../nats/bus.ts';
import { type OutageKind, outageOf } from './intake/read-barrier.ts';
import type { Heard } from './maintenance/membership.ts';
import type { HostParts } from './parts.ts';

/**
 * The reason why nothing is judged here. `sinceMs`: of the log's clock. `judges`: another replica that does; null: none
 * is known.
 */
export type Outage = {
  readonly kind: OutageKind;
  readonly sinceMs: number;
  readonly error: AppError;
  readonly judges: string | null;
};

/**
 * `judging`: it lives and keeps up with the log. `behind`: it lives. `silent`: nothing was heard of it for three beats.
 * `unknown`: this replica hears nobody now. Times are of the log's clock; null: not known.
 */
export type ReplicaStanding = {
  readonly name: string;
  readonly isSelf: boolean;
  readonly state: 'judging' | 'behind' | 'not-judging' | 'silent' | 'unknown';
  readonly joinedMs: number;
  readonly heardMs: number | null;
  readonly foldedSeq: number | null;
  /** Entries that the log had, when it was heard last, and it had not folded. */
  readonly behind: number | null;
  /** Its duties for all of them: `snapshots`, `retention`. Attempts are shared out by their ids. */
  readonly duties: readonly string[];
};

/** The part of a bound that is used. */
export type BoundUse = { readonly bound: string; readonly used: number; readonly max: number };

export type HostStanding = {
  readonly outage: Outage | null;
  readonly replicas: readonly ReplicaStanding[];
  readonly server: ServerState;
  readonly retention: RetentionRules;
  readonly bounds: readonly BoundUse[];
};

export type Standing = {
  /** Cheap: it is asked ten times a second. */
  outage(): Outage | null;
  read(): HostStanding;
};

/** A beat comes every second: after so long one is missed that is not just late. */
const silentAfterMs = 3_000;

export function createStanding(parts: HostParts): Standing {
  const { bus, clock, fleet, logClock, lifecycle, progress, replica } = parts;
  let sinceMs: number | null = clock();
  const outage = (): Outage | null => {
    const found = outageOf(parts);
    sinceMs = found === null ? null : (sinceMs ?? clock());
    if (found === null) return null;
    const judges = found.kind === 'log-lost' ? null : (others().find(({ state }) => state === 'judging')?.name ?? null);
    return { ...found, sinceMs: toLogTime(sinceMs as number), judges };
  };
  // So that it is known since when, although nobody asks.
  lifecycle.watch(outage);
  parts.membership.watch(outage);
  /** This machine's clock may be another than the log's. */
  const toLogTime = (ms: number) => logClock.now() - (clock() - ms);
  const dutiesOf = (name: string) => ['snapshots', 'retention'].filter((duty) => ownerFor(fleet, duty, null) === name);
  const otherOf = (name: string, heard: Heard | null): ReplicaStanding => {
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
    [...fleet.replicas.keys()].filter((it) => it !== replica).map((it) => otherOf(it, parts.membership.heard(it)));
  const self = (out: Outage | null): ReplicaStanding => ({
    name: replica,
    isSelf: true,
    joinedMs: fleet.replicas.get(replica) ?? 0,
    duties: dutiesOf(replica),
    state: out === null ? 'judging' : out.kind === 'catching-up' ? 'behind' : 'not-judging',
    heardMs: logClock.now(),
    foldedSeq: progress.seq,
    // While the log does not answer, nobody knows how far it goes.
    behind: out === null || out.kind === 'catching-up' ? Math.max(0, parts.log.lastSeq() - progress.seq) : null,
  });
  return {
    outage,
    read() {
      const out = outage();
      const { writes, reads, probes } = parts.admission;
      return {
        outage: out,
        replicas: [self(out), ...others()].sort((a, b) => (a.name < b.name ? -1 : 1)),
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
