/** Messages to the page: events of its stream and replies of the inspector's endpoints. */
import type { Decision, State, TaskView, WorkerView } from '../../machines/index.ts';
import type { Packed } from './rows.ts';
import type { OutageNews } from './service-messages.ts';
import type { VerdictKind } from './vocabulary.ts';

/** `session`: the page is signed in. `operator`: it may act as operator. `token`: the service has an operator token. */
export type Hello = {
  readonly fleet: string;
  readonly replica: string;
  readonly version: string;
  /** A worker without an entry for this long is stale. */
  readonly staleAfterMs: number;
  readonly session: boolean;
  readonly operator: boolean;
  readonly token: boolean;
};
/** `fault` and `outage` say why nothing can be decided now, and since when. Null while the service works. */
type Head = {
  readonly seq: number;
  readonly nowMs: number;
  readonly headSeq: number;
  readonly fault: string | null;
  readonly outage: OutageNews | null;
};
/** Transitions counted per minute since `sinceMs`, at most ten minutes ago. Self-transitions are not counted. */
export type Moves = {
  readonly sinceMs: number;
  readonly minutes: readonly { readonly minuteMs: number; readonly transitions: readonly Transition[] }[];
};
/** The latest move of any worker and of any task, or null if none is known. */
export type LastMoves = Readonly<Record<Transition['machine'], Transition | null>>;
export type Full = Head & Packed & { readonly moves: Moves; readonly last: LastMoves };
/** `count` is the number of times since the last message. */
export type Transition = {
  readonly machine: 'worker' | 'task';
  readonly from: State;
  readonly to: State;
  readonly event: string;
  readonly count: number;
};
/** `entries` is the number of entries folded since the last message. Unchanged lists are omitted. */
export type Delta = Head & Partial<Packed> & { readonly transitions?: readonly Transition[]; readonly entries: number };
/** News about a selected actor. `omitted` is the number of entries left out because too many came at once. */
export type Focus<View = WorkerView | TaskView> = {
  readonly id: string;
  readonly view: View | null;
  readonly entries: readonly TimelineEntry[];
  readonly omitted: number;
};
export type StreamMessage =
  | { readonly event: 'hello'; readonly data: Hello }
  | { readonly event: 'full'; readonly data: Full }
  | { readonly event: 'delta'; readonly data: Delta }
  | { readonly event: 'worker'; readonly data: Focus<WorkerView> }
  | { readonly event: 'task'; readonly data: Focus<TaskView> }
  /** The final message: the token is no longer valid. */
  | { readonly event: 'locked'; readonly data: null };

/** An actor selected by a page. */
export type Topic = { readonly entity: 'worker' | 'task'; readonly id: string };

/** `entry` is the log entry at `seq`, or null if it is not about an actor. */
export type Moment = { readonly seq: number; readonly atMs: number; readonly entry: TimelineEntry | null };
export type PastFleet = Moment & Packed & { readonly last: LastMoves };
export type PastActor = Moment & { readonly view: WorkerView | TaskView };

/** `text` is a short summary. `data` has all fields; for a `decision` it is the Decision. */
export type TimelineEntry = {
  readonly seq: number;
  readonly atMs: number;
  readonly entity: string;
  readonly id: string;
  readonly type: string;
  readonly by: 'agent' | 'service' | 'operator';
  readonly text: string;
  readonly data: object;
};
/**
 * Oldest first. `before` is where the next older page ends, or null if there is none. `decision` is the newest decision
 * about a task, or null; it is absent for workers.
 */
export type TimelinePage = {
  readonly entries: readonly TimelineEntry[];
  readonly before: number | null;
  readonly decision?: TimelineEntry | null;
};

/** A page of a search. The search has covered the log from `readTo` on. */
export type EntriesPage = TimelinePage & { readonly readTo: number };

/** One attempt: the agent's output, its check results and the decision, which is null while the attempt is open. */
export type AttemptRecord = {
  readonly attempt: string;
  readonly seq: number;
  readonly atMs: number;
  readonly output: string | null;
  readonly stopReason: string | null;
  readonly decision: Decision | null;
  readonly checks: readonly {
    readonly check: string;
    readonly outcome: string;
    readonly reason: string | null;
    readonly feedback: unknown;
    readonly tookMs: number | null;
  }[];
  /** Null if the work began too far back to be read. */
  readonly work: AttemptWork | null;
};

/** What a worker did between the previous attempt (or its first entry in the log) and this one. */
export type AttemptWork = {
  readonly tools: number;
  /** Number of different files modified. */
  readonly files: number;
  readonly ms: number;
  readonly usd: number;
  readonly tokens: number;
  /** Set if new work began in between, so that the findings of the two attempts cannot be compared. */
  readonly begun: 'prompt' | 'task' | null;
};

/**
 * Counts of consecutive entries, with one count per kind of stop. Times are milliseconds since 1970 by the log's clock.
 */
export type OutlineBucket = Readonly<Record<VerdictKind, number>> & {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly count: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** The longest period without an entry that ended with one of these entries. */
  readonly silentFromMs: number;
  readonly silentToMs: number;
};
export type OutlineReply = {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The first entry that can be shown. */
  readonly shownFrom: number;
  /** Number of entries from `shownFrom` on that have been counted so far. */
  readonly covered: number;
  /** Entries per bucket, at least the requested number. Buckets begin at multiples of it plus one. */
  readonly width: number;
  /** In log order. Buckets that have not been folded yet are missing. */
  readonly buckets: readonly OutlineBucket[];
};

export type WhatIfAnswer = {
  /** Number of attempts compared. */
  readonly compared: number;
  /** Number of attempts that would be decided differently, including omitted ones. */
  readonly differ: number;
  /**
   * Number of attempts with an unknown result: `after` is null, and `missingCheck` names the check without a result.
   */
  readonly unknown: number;
  /** Oldest first. */
  readonly differences: readonly WhatIfDifference[];
  /** Number of earlier differences left out. */
  readonly omitted: number;
  readonly tookMs: number;
};
export type WhatIfDifference = {
  readonly worker: string;
  readonly attempt: string;
  /** Log sequence of the decision. */
  readonly seq: number | null;
  readonly at: string;
  readonly before: Decision;
  readonly after: Decision | null;
  /** If this and `after` are both null, the attempt would still be held. */
  readonly missingCheck: string | null;
  /** The guards that decided before and after. */
  readonly guards: readonly [before: string | null, after: string | null];
};

/** An agent's text may be a megabyte. The page receives the beginning, and can request the whole entry. */
const textCharsMax = 4_000;

/** Serializes with long texts truncated and marked, so that the page can offer to load the rest. */
export const toTruncatedJson = (value: unknown): string =>
  // A replacer is slow for 100,000 values, so use one only if there is a long text.
  hasLongText(value) ? JSON.stringify(value, (_key, part: unknown) => truncate(part)) : JSON.stringify(value);

const isLong = (part: unknown): part is string => typeof part === 'string' && part.length > textCharsMax;

const truncate = (part: unknown): unknown =>
  isLong(part)
    ? `${part.slice(0, textCharsMax)}… [truncated: ${part.length.toLocaleString('en')} characters in total]`
    : part;

function hasLongText(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isLong(value);
  return (Array.isArray(value) ? value : Object.values(value)).some(hasLongText);
}

/** Statistics of a span of time. Buckets are oldest first; `guards` counts blocks by deciding guard. */
export type FleetStatistics = {
  readonly span: 'hour' | 'day' | 'week' | 'custom';
  readonly nowMs: number;
  /** The counted span, end excluded. The first and last bucket may extend beyond it. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly bucketMs: number;
  /** Time of the first entry in the log if the span goes further back, otherwise null. */
  readonly knownFromMs: number | null;
  readonly buckets: readonly {
    readonly atMs: number;
    readonly verdicts: Readonly<Record<VerdictKind, number>>;
    readonly guards: Readonly<Record<string, number>>;
    readonly checkMs: number;
    readonly escalations: number;
    readonly resolved: number;
    /** Median time to resolve. */
    readonly resolveMs: number | null;
    readonly usd: number;
    readonly tokens: number;
  }[];
  readonly resolveMs: { readonly p50: number | null; readonly p95: number | null };
  /** Sorted by number of blocks, descending. */
  readonly checks: readonly CheckStatistics[];
  /** Usage reported by agents, or null if there is none. */
  readonly usage: UsageStatistics | null;
};
/**
 * UTC days in order; workers, models and tasks by cost, as `stopgate spend` sorts them. `tasks` is null if the log does
 * not show who held which task.
 */
export type UsageStatistics = {
  readonly days: readonly UsageLine[];
  readonly workers: readonly UsageLine[];
  readonly models: readonly UsageLine[];
  readonly tasks: readonly UsageLine[] | null;
};
/** `name` is null for usage without a model or without a task. */
export type UsageLine = {
  readonly name: string | null;
  readonly usd: number;
  readonly tokens: number;
  readonly cacheRead: number;
  readonly reports: number;
};
export type CheckStatistics = {
  readonly check: string;
  readonly runs: number;
  readonly passed: number;
  readonly failed: number;
  /** Runs that timed out or could not start. */
  readonly errors: number;
  readonly p95Ms: number | null;
  /** Pairs among `compared` with different results. */
  readonly differing: number;
  /** Pairs of runs on unchanged work. */
  readonly compared: number;
  /** Number of stops blocked by this check. */
  readonly blocks: number;
};
