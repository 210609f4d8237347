/**
 * The page gets this about the service itself (`GET /api/<fleet>/service`). Times are milliseconds since 1970 by the
 * log's clock. Null is what is not known, never a zero.
 */

/** The reasons why nothing is judged. Each has its own text and its own advice. */
export type OutageKind = 'log-lost' | 'ended' | 'nats-away' | 'log-silent' | 'not-stored' | 'catching-up';
/** `judges`: another replica that judges meanwhile; null: none is known. */
export type OutageNews = { readonly kind: OutageKind; readonly sinceMs: number; readonly judges: string | null };

export type ReplicaLine = {
  readonly name: string;
  readonly isSelf: boolean;
  readonly state: 'judging' | 'behind' | 'not-judging' | 'silent' | 'unknown';
  readonly joinedMs: number;
  readonly heardMs: number | null;
  readonly foldedSeq: number | null;
  /** Entries of the log that it has not folded, and how old the oldest of them is. */
  readonly behind: number | null;
  readonly behindMs: number | null;
  readonly duties: readonly string[];
};

export type NatsLine = {
  readonly address: string | null;
  readonly name: string | null;
  readonly version: string | null;
  readonly connections: readonly {
    readonly name: 'requests' | 'log';
    readonly isConnected: boolean;
    readonly forMs: number;
    readonly breaks: number;
  }[];
};

export type StreamLine = {
  readonly name: string;
  readonly holds: 'log' | 'dead letters' | 'snapshots' | 'older snapshots';
  readonly messages: number;
  readonly bytes: number;
  readonly bytesMax: number | null;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly firstMs: number | null;
  readonly lastMs: number | null;
  readonly copies: number;
  readonly leader: string | null;
};

export type StoreLines = {
  readonly streams: readonly StreamLine[];
  readonly account: { readonly bytes: number; readonly bytesMax: number | null } | null;
};

/** `newest`: the last of them first. */
export type DeadLines = {
  readonly count: number;
  readonly max: number;
  readonly newest: readonly {
    readonly seq: number;
    readonly at: string;
    readonly subject: string;
    readonly code: string;
    readonly message: string;
    readonly data: string;
  }[];
};

/** `atMs`: of the last entry that the newest covers; `entriesSince`: what a start would fold after it. */
export type SnapshotLine = {
  readonly kept: number;
  readonly newest: { readonly seq: number; readonly atMs: number; readonly bytes: number } | null;
  readonly entriesSince: number;
};

/** `kind`: the runner inside the service, one that policies name, or whoever serves a remote check. */
export type RunnerLine = {
  readonly kind: 'service' | 'runner' | 'check';
  readonly name: string | null;
  /** True if somebody serves it; null: not known. */
  readonly isServed: boolean | null;
  readonly waiting: number;
  readonly running: number;
  /** The time that the longest one has waited; null: none waits. */
  readonly oldestMs: number | null;
};

/** `seq` 0: none was ever set. `setBy`: the replica whose stopgate.yaml they are of; null: the log does not say any more. */
export type PolicyLines = {
  readonly seq: number;
  readonly setBy: string | null;
  readonly atMs: number | null;
  readonly policies: readonly {
    readonly name: string;
    readonly checks: readonly string[];
    readonly retries: number | null;
  }[];
};

/** `used` null: not known now. */
export type LimitLine = { readonly bound: string; readonly used: number | null; readonly max: number };

export type ServiceReport = {
  readonly nowMs: number;
  /** The version of the service. */
  readonly version?: string;
  readonly replica: string;
  readonly outage: (OutageNews & { readonly reason: string }) | null;
  readonly replicas: readonly ReplicaLine[];
  readonly nats: NatsLine;
  /** It is null if NATS does not answer; `storeProblem` has its error. */
  readonly store: StoreLines | null;
  readonly storeProblem: string | null;
  readonly dead: DeadLines | null;
  readonly snapshots: SnapshotLine | null;
  /** A bound of null is no limit. */
  readonly retention: {
    readonly forMs: number | null;
    readonly bytesMax: number | null;
    readonly archive: string | null;
  };
  readonly runners: readonly RunnerLine[];
  /** Open attempts that were not looked at: there are too many. */
  readonly runnersOmitted: number;
  readonly policies: PolicyLines;
  readonly limits: readonly LimitLine[];
};
