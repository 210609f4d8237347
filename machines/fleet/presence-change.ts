/** Brings the presence that a worker's machine shows to what it is now; usage limits change it (protocol.md §3). */
import type { WorkerEntry } from '../entries/index.ts';
import type { Fleet, WorkerRecord } from './fleet.ts';
import { presenceAt, staleAfterMs } from './presence.ts';
import { armStaleDeadlines } from './time/due-time.ts';
import { stepWorker, workerOf } from './workers.ts';

export function refreshPresence(fleet: Fleet, record: WorkerRecord): void {
  const presence = presenceAt(fleet, record, fleet.nowMs);
  const { presence: before } = record.snapshot.value;
  if (before === presence) return;
  record.presenceFrom = before;
  record.limitEndedMs = before === 'limited' && presence === 'stale' ? fleet.nowMs : null;
  stepWorker(fleet, record, { type: 'presence.changed', presence });
}

/** The worker of an entry that is no sign of its life: an unknown one is registered by it, and has published nothing yet. */
export function absentWorkerOf(fleet: Fleet, worker: string): WorkerRecord {
  const known = fleet.workers.get(worker);
  if (known !== undefined) return known;
  const record = workerOf(fleet, worker);
  record.lastSeenMs = fleet.nowMs - staleAfterMs;
  refreshPresence(fleet, record);
  return record;
}

/** Folds a usage limit: of one worker, or of all that report a scope. */
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
