/** Brings the presence that a worker's machine shows to what it is now. */
import type { Fleet, WorkerRecord } from './fleet.ts';
import { presenceAt } from './presence.ts';
import { stepWorker } from './workers.ts';

export function refreshPresence(fleet: Fleet, record: WorkerRecord): void {
  const presence = presenceAt(fleet, record, fleet.nowMs);
  const { presence: before } = record.snapshot.value;
  if (before === presence) return;
  record.presenceFrom = before;
  record.limitEndedMs = before === 'limited' && presence === 'stale' ? fleet.nowMs : null;
  stepWorker(fleet, record, { type: 'presence.changed', presence });
}
