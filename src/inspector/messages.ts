/** The messages that the page receives: the events of its stream and the replies of the inspector's endpoints. */
import type { Decision, State, TaskView, WorkerView } from '../../machines/index.ts';
import type { Packed } from './rows.ts';
import type { OutageNews } from './service-messages.ts';
import type { VerdictKind } from './vocabulary.ts';

/** `session`: somebody is signed in; `operator`: and may act as one; `token`: the service has an operator token. */
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
/** `fault`: why nothing is decided now, and `outage` since when; null: the service works. */
type Head = {
  readonly seq: number;
  readonly nowMs: number;
  readonly headSeq: number;
  readonly fault: string | null;
  readonly outage: OutageNews | null;
};
/** Transitions counted by minute since `sinceMs`, ten minutes ago at most; not those that lead back to where they came from. */
export type Moves = {
  readonly sinceMs: number;
  readonly minutes: readonly { readonly minuteMs: number; readonly transitions: readonly Transition[] }[];
};
/** The latest move of any worker, and of any task; null: none is known. */
export type LastMoves = Readonly<Record<Transition['machine'], Transition | null>>;
export type Full = Head & Packed & { readonly moves: Moves; readonly last: LastMoves };
/** `count`: how often since the last message. */
export type Transition = {
  readonly machine: 'worker' | 'task';
  readonly from: State;
  readonly to: State;
  readonly event: string;
  readonly count: number;
};
/** `entries`: how many were folded since the last message. Lists without a change are left out. */
export type Delta = Head & Partial<Packed> & { readonly transitions?: readonly Transition[]; readonly entries: number };
/** The selected actor. `omitted`: entries left out because too many came at once. */
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
  /** The last: the token is not valid any more. */
  | { readonly event: 'locked'; readonly data: null };

/** An actor that a page has selected. */
export type Topic = { readonly entity: 'worker' | 'task'; readonly id: string };

/** `entry`: the one at `seq`; null: it is about no actor. */
export type Moment = { readonly seq: number; readonly atMs: number; readonly entry: TimelineEntry | null };
export type PastFleet = Moment & Packed & { readonly last: LastMoves };
export type PastActor = Moment & { readonly view: WorkerView | TaskView };

/** `text`: a short summary. `data`: all fields; for a `decision` the Decision. */
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
/** Oldest first. `before`: where the next page ends; null: there is none. */
export type TimelinePage = { readonly entries: readonly TimelineEntry[]; readonly before: number | null };

/** As a `TimelinePage`, of the whole log. `readTo`: all from there on was read, and has no other that fits. */
export type EntriesPage = TimelinePage & { readonly readTo: number };

/** One attempt: what the agent said, what its checks found, and the answer; `decision` null: it is open. */
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
  /** Null: it lies too far back to be read with the attempts. */
  readonly work: AttemptWork | null;
};

/** What a worker did between the attempt before, or its first entry that the log has, and an attempt. */
export type AttemptWork = {
  readonly tools: number;
  /** Different ones that it has modified. */
  readonly files: number;
  readonly ms: number;
  readonly usd: number;
  readonly tokens: number;
  /** Whether another work began, so that what the two attempts found says nothing about each other. */
  readonly begun: 'prompt' | 'task' | null;
};

/** Entries next to each other, counted; times in milliseconds since 1970 by the log's clock. Of stops: one count a kind. */
export type OutlineBucket = Readonly<Record<VerdictKind, number>> & {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly count: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** The longest time without an entry before one of them. */
  readonly silentFromMs: number;
  readonly silentToMs: number;
};
export type OutlineReply = {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The first entry that can be shown. */
  readonly shownFrom: number;
  /** The number of entries from there on that are counted so far. */
  readonly covered: number;
  /** Entries a bucket, at least what was asked for. Each begins after a multiple of it. */
  readonly width: number;
  /** In the log's order. Those that are not folded yet are left out. */
  readonly buckets: readonly OutlineBucket[];
};

export type WhatIfAnswer = {
  /** The number of attempts that were compared. */
  readonly compared: number;
  /** Attempts that would be decided differently, those that are left out included. */
  readonly differ: number;
  /** Attempts whose result is unknown: `after` is null, and `missingCheck` names the check without a result. */
  readonly unknown: number;
  /** Oldest first. */
  readonly differences: readonly WhatIfDifference[];
  /** Earlier differences that are left out. */
  readonly omitted: number;
  readonly tookMs: number;
};
export type WhatIfDifference = {
  readonly worker: string;
  readonly attempt: string;
  /** Sequence of the decision in the log. */
  readonly seq: number | null;
  readonly at: string;
  readonly before: Decision;
  readonly after: Decision | null;
  /** Null with `after` null: the attempt would still be held. */
  readonly missingCheck: string | null;
  /** The guards that decided. */
  readonly guards: readonly [before: string | null, after: string | null];
};

/** An agent's text may be a megabyte: the page gets its beginning, and the whole entry on request. */
const textCharsMax = 4_000;

/** JSON with long texts truncated. Each carries a mark, by which the page offers to load the rest. */
export const toTruncatedJson = (value: unknown): string =>
  // A function that is called for each of 100,000 values would take most of the time.
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

// The messages of the page's view of statistics.

/** Counts of a span of time, oldest first. `guards`: blocks by the guard that decided. */
export type FleetStatistics = {
  readonly span: 'hour' | 'day' | 'week' | 'custom';
  readonly nowMs: number;
  /** The span that was counted, without its end. The first and the last bucket may reach beyond it. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly bucketMs: number;
  /** The log holds nothing earlier, though the span goes further back; null: it does. */
  readonly knownFromMs: number | null;
  readonly buckets: readonly {
    readonly atMs: number;
    readonly verdicts: Readonly<Record<VerdictKind, number>>;
    readonly guards: Readonly<Record<string, number>>;
    readonly checkMs: number;
    readonly escalations: number;
    readonly resolved: number;
    /** Half of those resolved took no longer. */
    readonly resolveMs: number | null;
    readonly usd: number;
    readonly tokens: number;
  }[];
  readonly resolveMs: { readonly p50: number | null; readonly p95: number | null };
  /** The most blocks first. */
  readonly checks: readonly CheckStatistics[];
  /** The usage that agents have reported; null: none. */
  readonly usage: UsageStatistics | null;
};
/** Days of UTC come in order, models and tasks by cost. `tasks` null: the log does not say who held which. */
export type UsageStatistics = {
  readonly days: readonly UsageLine[];
  readonly models: readonly UsageLine[];
  readonly tasks: readonly UsageLine[] | null;
};
/** `name` null: no model was named, or no task was held. */
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
  /** It did not answer in time, or could not be run. */
  readonly errors: number;
  readonly p95Ms: number | null;
  /** The number of `compared` pairs of runs that differ: of the same tree, or of a worker that changed nothing in between. */
  readonly differing: number;
  readonly compared: number;
  /** The number of stops that it blocked. */
  readonly blocks: number;
};
