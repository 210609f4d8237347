/**
 * The report about the service itself (`GET /api/<fleet>/service`). Times are milliseconds since 1970 by the log's
 * clock. Unknown values are null, never 0.
 */

/** Reasons why nothing is judged. The page has a text and advice for each. */
export type OutageKind = 'log-lost' | 'ended' | 'nats-away' | 'log-silent' | 'not-stored' | 'catching-up';
/** `judges` is another replica that judges meanwhile, or null if none is known. */
export type OutageNews = { readonly kind: OutageKind; readonly sinceMs: number; readonly judges: string | null };

export type ReplicaLine = {
  readonly name: string;
  readonly isSelf: boolean;
  readonly state: 'judging' | 'behind' | 'not-judging' | 'silent' | 'unknown';
  readonly joinedMs: number;
  readonly heardMs: number | null;
  readonly foldedSeq: number | null;
  /** Number of entries it has not folded yet, and the age of the oldest. */
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

/** `newest` has the latest first. */
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

/** `atMs` is the time of the last entry covered by the newest snapshot. A restart would fold `entriesSince` entries. */
export type SnapshotLine = {
  readonly kept: number;
  readonly newest: { readonly seq: number; readonly atMs: number; readonly bytes: number } | null;
  readonly entriesSince: number;
};

/** `kind`: the runner inside the service, a runner named by policies, or the program that serves a remote check. */
export type RunnerLine = {
  readonly kind: 'service' | 'runner' | 'check';
  readonly name: string | null;
  /** Whether anyone serves it. Null if unknown. */
  readonly isServed: boolean | null;
  readonly waiting: number;
  readonly running: number;
  /** How long the oldest check has been waiting, or null if none is. */
  readonly oldestMs: number | null;
};

/**
 * `seq` is 0 if none was ever set. `setBy` is the replica whose stopgate.yaml set them; null if no longer in the log.
 */
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

/** `used` is null if unknown. */
export type LimitLine = { readonly bound: string; readonly used: number | null; readonly max: number };

export type ServiceReport = {
  readonly nowMs: number;
  readonly version?: string;
  readonly replica: string;
  readonly outage: (OutageNews & { readonly reason: string }) | null;
  /** Since when this replica judges: since its start or its last outage. Null if it does not judge. */
  readonly judgesSinceMs: number | null;
  readonly replicas: readonly ReplicaLine[];
  readonly nats: NatsLine;
  /** Null if NATS does not answer; `storeProblem` then has the error. */
  readonly store: StoreLines | null;
  readonly storeProblem: string | null;
  readonly dead: DeadLines | null;
  readonly snapshots: SnapshotLine | null;
  /** Null means unlimited. */
  readonly retention: {
    readonly forMs: number | null;
    readonly bytesMax: number | null;
    readonly archive: string | null;
  };
  readonly runners: readonly RunnerLine[];
  /** Number of open attempts that were skipped because there are too many. */
  readonly runnersOmitted: number;
  readonly policies: PolicyLines;
  readonly limits: readonly LimitLine[];
};
