/** Presence: whether a worker was seen recently, and whether a usage limit applies (protocol.md §4). */
import type { Presence } from '../values/states.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Fleet, WorkerRecord } from './fleet.ts';

/** A worker stays active this long after its last entry. */
const activeForMs = 120_000;

/** A worker is stale from the first millisecond after two minutes (seed 004, Rate Limit Considerations). */
export const staleAfterMs = activeForMs + 1;

/** A limit ends at exactly `until`. The limit of a scope applies to every worker that ever reported the scope. */
export function isLimited(fleet: Fleet, worker: WorkerContext, nowMs: number): boolean {
  const holds = (limit: { readonly untilMs: number | null } | null | undefined) =>
    limit !== null && limit !== undefined && (limit.untilMs === null || nowMs < limit.untilMs);
  return holds(worker.limit) || worker.scopes.some((scope) => holds(fleet.scopes.get(scope)?.limit));
}

/** Returns when the worker becomes stale if it reports nothing until then. A running tool keeps it active. */
export function staleFromMs({ snapshot, lastSeenMs }: WorkerRecord): number {
  let fromMs = lastSeenMs + staleAfterMs;
  for (const { untilMs } of snapshot.context.worker.calls) fromMs = Math.max(fromMs, untilMs + 1);
  return fromMs;
}

export function presenceAt(fleet: Fleet, record: WorkerRecord, nowMs: number): Presence {
  if (isLimited(fleet, record.snapshot.context.worker, nowMs)) return 'limited';
  return nowMs >= staleFromMs(record) ? 'stale' : 'active';
}
