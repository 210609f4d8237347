/** When a deadline is due as things stand: most are not removed when what they are about has changed. */
import type { Deadline } from './deadlines.ts';
import type { Fleet } from './fleet.ts';
import { escalationDueMs, handBackDueMs, staleDueMs } from './stale-deadlines.ts';

/** Null: it no longer means anything. */
export function dueMsOf(fleet: Fleet, deadline: Deadline): number | null {
  const { kind, id, attempt, atMs } = deadline;
  if (kind === 'evaluation') {
    const open = fleet.tasks.read(id)?.snapshot.context.evaluations.find((it) => it.attempt === attempt);
    return open?.pending.deadlineMs === atMs ? atMs : null;
  }
  // `attempt`: its scope.
  if (kind === 'limit' && attempt !== '') return fleet.scopes.get(attempt)?.limit?.untilMs === atMs ? atMs : null;
  // Most workers with such a deadline have been answered.
  if (kind === 'attempt' && !fleet.open.has(id)) return null;
  const record = fleet.workers.read(id);
  if (record === undefined) return null;
  const { worker } = record.snapshot.context;
  switch (kind) {
    case 'limit':
      return worker.limit?.untilMs === atMs ? atMs : null;
    case 'stale':
      return staleDueMs(record, atMs);
    case 'escalate':
      return escalationDueMs(fleet, record);
    case 'release':
      return handBackDueMs(fleet, record);
    default:
      return worker.attempt?.attempt === attempt && record.wakeMs === atMs ? atMs : null;
  }
}
