/** Brings the presence that a worker's machine shows to what it is now. */
import type { Fleet, WorkerRecord } from './fleet.ts';
import { presenceAt, staleAfterMs } from './presence.ts';
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
