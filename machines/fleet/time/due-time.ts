/**
 * Decides when deadlines are due. Most deadlines are not removed when they become obsolete, so each is checked against
 * the current state when it comes up. A stale worker that holds tasks has two more: when it is escalated, and when its
 * tasks are handed back.
 */
import { parseIsoTime } from '../../values/time.ts';
import type { WorkerContext } from '../../worker/context.ts';
import type { Fleet, WorkerRecord } from '../fleet.ts';
import { policyInForce } from '../policies.ts';
import { staleAfterMs, staleFromMs } from '../presence.ts';
import { unattendedDueMs } from '../queues/attendance.ts';
import type { Deadline } from './deadlines.ts';

/** Returns when the deadline is due in the current state; null if it is obsolete. */
function dueMsOf(fleet: Fleet, deadline: Deadline): number | null {
  const { kind, id, attempt, atMs } = deadline;
  if (kind === 'evaluation') {
    const open = fleet.tasks
      .read(id)
      ?.snapshot.context.evaluations.find((evaluation) => evaluation.attempt === attempt);
    return open?.pending.deadlineMs === atMs ? atMs : null;
  }
  if (kind === 'unattended') return unattendedDueMs(fleet, id);
  // `attempt` holds the scope of the limit.
  if (kind === 'limit' && attempt !== '') return fleet.scopes.get(attempt)?.limit?.untilMs === atMs ? atMs : null;
  // Checked first, because most attempts have been decided by now.
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

/** Fewer deadlines are never swept: it would not be worth the cost. */
const sweptFrom = 4_096;

/**
 * Drops obsolete deadlines. Call it at the end of a step. Obsolete deadlines stay in the heap until their time comes,
 * and an agent can set any number of distant ones. So they are swept when they may be half of all: the heap then has
 * at most twice the valid deadlines, at an amortized cost of one check each. When that happens follows from the log
 * alone.
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

/** Deadlines with equal keys have the same effect, so one of them is enough. */
const keyOf = ({ kind, id, attempt }: Deadline): string =>
  kind === 'limit' && attempt !== '' ? `${kind} ${attempt}` : `${kind} ${id} ${attempt}`;

/**
 * Sets the deadline at which a worker's staleness is checked, if it has none, or if it becomes stale sooner than before
 * because a tool has ended. A deadline that comes up too early moves to the new time. How far it has moved is not
 * state: a replica that runs timers moves it earlier than a plain fold.
 * @param beforeMs when the worker would have become stale before the entry
 */
export function armStaleness(fleet: Fleet, record: WorkerRecord, beforeMs: number): void {
  const atMs = staleFromMs(record);
  if (record.staleArmed && atMs >= beforeMs) return;
  record.staleArmed = true;
  fleet.deadlines.push({ atMs, kind: 'stale', id: record.snapshot.context.worker.worker, attempt: '' });
}

/** Returns when a `stale` deadline is due; null if it was handled. */
const staleDueMs = (record: WorkerRecord, atMs: number): number | null =>
  record.staleArmed ? Math.max(atMs, staleFromMs(record)) : null;

/**
 * Sets the deadlines at which a stale worker is escalated (`escalate`) and its tasks are handed back (`release`). Call
 * it when their conditions may have become true.
 */
export function armStaleDeadlines(fleet: Fleet, worker: string): void {
  const record = fleet.workers.get(worker);
  if (record === undefined) return;
  const escalateMs = escalationDueMs(fleet, record);
  if (escalateMs !== null) fleet.deadlines.push({ atMs: escalateMs, kind: 'escalate', id: worker, attempt: '' });
  const handBackMs = handBackDueMs(fleet, record);
  if (handBackMs !== null) fleet.deadlines.push({ atMs: handBackMs, kind: 'release', id: worker, attempt: '' });
}

/**
 * Returns when a worker with tasks became stale, and when it was last answered; null if it is not stale or holds none.
 * A limited worker is not stale. While an attempt is open the worker waits for the service, so its time starts again
 * with the answer.
 */
function stalenessOf(record: WorkerRecord): { readonly staleMs: number; readonly answeredMs: number } | null {
  const { tasks, attempt, lastDecision } = record.snapshot.context.worker;
  if (tasks.length === 0 || attempt !== null || record.snapshot.value.presence !== 'stale') return null;
  const answeredMs = lastDecision === null ? 0 : (parseIsoTime(lastDecision.at) ?? 0);
  return { staleMs: staleFromMs(record), answeredMs };
}

/** Returns when the stale worker is escalated, or null if that never happens. */
function escalationDueMs(fleet: Fleet, record: WorkerRecord): number | null {
  const since = stalenessOf(record);
  if (since === null || policyInForce(fleet, record.snapshot.context.worker).policy.onStale !== 'escalate') return null;
  return Math.max(since.staleMs, since.answeredMs + staleAfterMs);
}

/**
 * Returns when the stale worker's tasks are handed back, or null. Starts after a usage limit (protocol.md §8).
 */
function handBackDueMs({ policies: { releaseAfterMs } }: Fleet, record: WorkerRecord): number | null {
  const since = releaseAfterMs === null ? null : stalenessOf(record);
  if (releaseAfterMs === null || since === null) return null;
  const { staleMs, answeredMs } = since;
  return Math.max(Math.max(record.limitEndedMs ?? staleMs - 1, answeredMs) + releaseAfterMs, staleMs);
}

/** Returns when the worker's next request becomes overdue, or null. */
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
 * Sets the deadline at which a request of the worker becomes overdue.
 * @param before the worker before the step; null if the configured time may have changed
 */
export function armWaiting(fleet: Fleet, before: WorkerContext | null, after: WorkerContext): void {
  const atMs = waitingDueMs(fleet, after);
  if (atMs === null || (before !== null && waitingDueMs(fleet, before) === atMs)) return;
  fleet.deadlines.push({ atMs, kind: 'waiting', id: after.worker, attempt: '' });
}

/** Returns the next valid deadline, or null. Drops obsolete and duplicate deadlines. */
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
