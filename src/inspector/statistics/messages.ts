/** The messages of the page's view of statistics. */
import type { VerdictKind } from '../vocabulary.ts';

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
