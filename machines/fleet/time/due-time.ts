/**
 * When a deadline is due as things stand: most are not removed when what they are about has changed. A stale worker that
 * holds tasks has some of its own: when it is escalated, and when its tasks go back.
 */
import { parseIsoTime } from '../../values/time.ts';
import type { WorkerContext } from '../../worker/context.ts';
import type { Fleet, WorkerRecord } from '../fleet.ts';
import { policyInForce } from '../policies.ts';
import { staleAfterMs, staleFromMs } from '../presence.ts';
import { unattendedDueMs } from '../queues/queues.ts';
import type { Deadline } from './deadlines.ts';

/** Returns null if it no longer means anything. */
function dueMsOf(fleet: Fleet, deadline: Deadline): number | null {
  const { kind, id, attempt, atMs } = deadline;
  if (kind === 'evaluation') {
    const open = fleet.tasks.read(id)?.snapshot.context.evaluations.find((it) => it.attempt === attempt);
    return open?.pending.deadlineMs === atMs ? atMs : null;
  }
  if (kind === 'unattended') return unattendedDueMs(fleet, id);
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
    case 'waiting':
      return waitingDueMs(fleet, worker);
    default:
      return worker.attempt?.attempt === attempt && record.wakeMs === atMs ? atMs : null;
  }
}

/** With fewer deadlines than this, a sweep is not worth its cost. */
const sweptFrom = 4_096;

/**
 * Drops deadlines that no longer hold. Call it at the end of a step. They stay in the heap until their time comes, which an
 * agent may set far away and again and again. So they are removed when they may be half of all: a heap has at most twice
 * the deadlines that mean something, and each costs one check. When that happens follows from the log alone.
 */
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

/**
 * Sets the deadline at which a worker's staleness is checked: a new one where it has none, or where it is stale sooner
 * than before (a tool has ended). One that is left over moves on to the next time, as the first does. How far a deadline
 * has moved is no state: a replica that runs timers moves it earlier than a fold alone.
 * @param beforeMs from when on it was stale before the entry
 */
export function armStaleness(fleet: Fleet, record: WorkerRecord, beforeMs: number): void {
  const atMs = staleFromMs(record);
  if (record.staleArmed && atMs >= beforeMs) return;
  record.staleArmed = true;
  fleet.deadlines.push({ atMs, kind: 'stale', id: record.snapshot.context.worker.worker, attempt: '' });
}

/** Returns when a deadline of a worker's staleness is due; null: it was handled. */
const staleDueMs = (record: WorkerRecord, atMs: number): number | null =>
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
 * When a worker that holds tasks became stale, and when it was last answered; null: it is not stale, or holds none. A usage
 * limit is waited out. While an attempt is open the worker waits for us; after the answer it has its whole time again.
 */
function stalenessOf(record: WorkerRecord): { readonly staleMs: number; readonly answeredMs: number } | null {
  const { tasks, attempt, lastDecision } = record.snapshot.context.worker;
  if (tasks.length === 0 || attempt !== null || record.snapshot.value.presence !== 'stale') return null;
  const answeredMs = lastDecision === null ? 0 : (parseIsoTime(lastDecision.at) ?? 0);
  return { staleMs: staleFromMs(record), answeredMs };
}

/** When the worker is escalated; null: not in its current state. */
function escalationDueMs(fleet: Fleet, record: WorkerRecord): number | null {
  const since = stalenessOf(record);
  if (since === null || policyInForce(fleet, record.snapshot.context.worker).policy.onStale !== 'escalate') return null;
  return Math.max(since.staleMs, since.answeredMs + staleAfterMs);
}

/** When the worker's tasks go back; null: never, as things stand. The time begins at the end of a usage limit (protocol.md §8). */
function handBackDueMs({ policies: { releaseAfterMs } }: Fleet, record: WorkerRecord): number | null {
  const since = releaseAfterMs === null ? null : stalenessOf(record);
  if (releaseAfterMs === null || since === null) return null;
  const { staleMs, answeredMs } = since;
  return Math.max(Math.max(record.limitEndedMs ?? staleMs - 1, answeredMs) + releaseAfterMs, staleMs);
}

/** When a request of the worker has waited for a person for too long; null: none will have, as things stand. */
function waitingDueMs({ policies: { waitingMs } }: Fleet, { inputs }: Pick<WorkerContext, 'inputs'>): number | null {
  if (waitingMs === null) return null;
  let dueMs: number | null = null;
  for (const { since, overdue } of inputs) {
    if (overdue !== undefined) continue;
    const atMs = (parseIsoTime(since) ?? 0) + waitingMs;
    if (dueMs === null || atMs < dueMs) dueMs = atMs;
  }
  return dueMs;
}

/**
 * Sets the deadline of the requests of a worker that wait for a person.
 * @param before the worker before the step; null: the deadline itself may have changed
 */
export function armWaiting(fleet: Fleet, before: WorkerContext | null, after: WorkerContext): void {
  const atMs = waitingDueMs(fleet, after);
  if (atMs === null || (before !== null && waitingDueMs(fleet, before) === atMs)) return;
  fleet.deadlines.push({ atMs, kind: 'waiting', id: after.worker, attempt: '' });
}

/**
 * Returns the next deadline that still holds, or null. Deadlines that no longer hold are dropped, and equal ones become
 * one.
 */
export function nextDeadline(fleet: Fleet): Deadline | null {
  let moved: Deadline | null = null;
  for (;;) {
    const next = fleet.deadlines.peek();
    if (next === undefined) return null;
    const movedTo = dueMsOf(fleet, next);
    if (movedTo === next.atMs) return next;
    fleet.deadlines.pop();
    if (movedTo !== null && !isSame(next, moved)) fleet.deadlines.push({ ...next, atMs: movedTo });
    moved = next;
  }
}

const isSame = (one: Deadline, other: Deadline | null): boolean =>
  other !== null &&
  one.atMs === other.atMs &&
  one.kind === other.kind &&
  one.id === other.id &&
  one.attempt === other.attempt;
