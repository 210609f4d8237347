/** Usage limits: of one worker, or of all that report a scope (protocol.md §3). */
import type { WorkerEntry } from '../entries/index.ts';
import type { Fleet, WorkerRecord } from './fleet.ts';
import { refreshPresence } from './presence-change.ts';
import { armStaleDeadlines } from './stale-deadlines.ts';

export function changeLimit(
  fleet: Fleet,
  record: WorkerRecord,
  entry: Extract<WorkerEntry, { type: 'limit.reached' | 'limit.cleared' }>,
): void {
  const limit = entry.type === 'limit.reached' ? { untilMs: entry.data.until ?? null } : null;
  const { scope } = entry.data;
  if (scope !== undefined) {
    const known = fleet.scopes.get(scope) ?? { limit: null, workers: new Set<string>() };
    if (limit !== null) known.workers.add(entry.id);
    known.limit = limit;
    // One that nobody has reported limits nobody: to clear it leaves nothing behind.
    if (known.workers.size > 0) fleet.scopes.set(scope, known);
  }
  if (limit?.untilMs != null && limit.untilMs > fleet.nowMs) {
    fleet.deadlines.push({ atMs: limit.untilMs, kind: 'limit', id: entry.id, attempt: scope ?? '' });
  }
  refreshPresence(fleet, record);
  for (const worker of scope === undefined ? [] : (fleet.scopes.get(scope)?.workers ?? [])) {
    const other = fleet.workers.get(worker);
    if (other === undefined) continue;
    refreshPresence(fleet, other);
    armStaleDeadlines(fleet, worker);
  }
}
