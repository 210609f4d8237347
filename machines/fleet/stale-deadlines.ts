/** What happens to a stale worker that holds tasks: the deadlines of its escalation and of returning its tasks. */
import { parseIsoTime } from '../values/time.ts';
import type { Fleet, WorkerRecord } from './fleet.ts';
import { policyInForce } from './policies.ts';
import { staleAfterMs, staleFromMs } from './presence.ts';

/**
 * Sets the deadline at which a worker is looked at: a new one where it has none, or where it is stale sooner than before
 * (a tool has ended). One that is left over moves on to the next time, as the first does. How far a deadline has moved
 * is no state: a replica that runs timers moves it earlier than a fold alone.
 * @param beforeMs from when on it was stale before the entry
 */
export function armStaleness(fleet: Fleet, record: WorkerRecord, beforeMs: number): void {
  const atMs = staleFromMs(record);
  if (record.staleArmed && atMs >= beforeMs) return;
  record.staleArmed = true;
  fleet.deadlines.push({ atMs, kind: 'stale', id: record.snapshot.context.worker.worker, attempt: '' });
}

/** Returns when a deadline of a worker's staleness is due; null: it was handled. */
export const staleDueMs = (record: WorkerRecord, atMs: number): number | null =>
  record.staleArmed ? Math.max(atMs, staleFromMs(record)) : null;

/** Sets the stale deadlines of a worker. Call it when one of their conditions may have become true. */
export function armStaleDeadlines(fleet: Fleet, worker: string): void {
  const record = fleet.workers.get(worker);
  if (record === undefined) return;
  const escalateMs = escalationDueMs(fleet, record);
  if (escalateMs !== null) fleet.deadlines.push({ atMs: escalateMs, kind: 'escalate', id: worker, attempt: '' });
  const releaseMs = handBackDueMs(fleet, record);
  if (releaseMs !== null) fleet.deadlines.push({ atMs: releaseMs, kind: 'release', id: worker, attempt: '' });
}

/**
 * When the worker is escalated; null: not in its current state. A usage limit is waited out. While an attempt is open
 * the worker waits for us; after the answer it has the time again after which it is stale.
 */
export function escalationDueMs(fleet: Fleet, record: WorkerRecord): number | null {
  const { snapshot } = record;
  const { worker } = snapshot.context;
  const { tasks, attempt, lastDecision } = worker;
  if (tasks.length === 0 || attempt !== null || snapshot.value.presence !== 'stale') return null;
  if (policyInForce(fleet, worker).policy.onStale !== 'escalate') return null;
  const answeredMs = lastDecision === null ? 0 : (parseIsoTime(lastDecision.at) ?? 0);
  return Math.max(staleFromMs(record), answeredMs + staleAfterMs);
}

/**
 * When the worker's tasks go back, or null: never, as things stand. A usage limit is waited out, and the time begins at
 * its end (protocol.md §8). Nothing is taken away while an attempt is open, since the worker then waits for us; it gets
 * the whole time after the answer.
 */
export function handBackDueMs(fleet: Fleet, record: WorkerRecord): number | null {
  const { snapshot, limitEndedMs } = record;
  const { releaseAfterMs } = fleet.policies;
  const { tasks, attempt, lastDecision } = snapshot.context.worker;
  if (releaseAfterMs === null || tasks.length === 0 || attempt !== null || snapshot.value.presence !== 'stale')
    return null;
  const answeredMs = lastDecision === null ? 0 : (parseIsoTime(lastDecision.at) ?? 0);
  const staleMs = staleFromMs(record);
  const sinceMs = Math.max(limitEndedMs ?? staleMs - 1, answeredMs);
  return Math.max(sinceMs + releaseAfterMs, staleMs);
}
