/**
 * Deadlines that no longer mean anything stay in the heap until their time comes, which an agent may set far away and
 * again and again. So they are removed when they may be half of all: a heap has at most twice the deadlines that mean
 * something, and each costs one look. When that happens follows from the log alone.
 */
import type { Deadline } from './deadlines.ts';
import { dueMsOf } from './due-time.ts';
import type { Fleet } from './fleet.ts';

/** With fewer deadlines than this, a sweep is not worth its cost. */
const sweptFrom = 4_096;

/** Drops deadlines that no longer hold. Call it at the end of a step. */
export function sweepDeadlines(fleet: Fleet): void {
  const { deadlines } = fleet;
  if (deadlines.size <= Math.max(sweptFrom, 2 * fleet.deadlinesKept)) return;
  const kept = new Map<string, Deadline>();
  for (const deadline of deadlines.toArray()) {
    if (dueMsOf(fleet, deadline) === null) continue;
    const key = keyOf(deadline);
    const other = kept.get(key);
    if (other === undefined || deadline.atMs < other.atMs) kept.set(key, deadline);
  }
  deadlines.reset([...kept.values()]);
  fleet.deadlinesKept = deadlines.size;
}

/** Deadlines with the same key do the same, so one of them is enough. */
const keyOf = ({ kind, id, attempt }: Deadline): string =>
  kind === 'limit' && attempt !== '' ? `${kind} ${attempt}` : `${kind} ${id} ${attempt}`;
