/** The log's clock: deadlines are handled in order, each at its own time, before anything later is folded (protocol.md §1). */
import { escalate } from '../../values/escalation.ts';
import { formatIsoTime } from '../../values/time.ts';
import { resumeAttempt, resumeHeldOn } from '../attempts.ts';
import { type Fleet, pendingIn, placeOf, type WorkerRecord } from '../fleet.ts';
import { beginUnattended } from '../queues/queues.ts';
import { stepTask, taskSurroundings } from '../tasks.ts';
import { refreshPresence, stepWorker } from '../workers.ts';
import type { Deadline, Deadlines } from './deadlines.ts';
import { armStaleDeadlines, nextDeadline } from './due-time.ts';
import { forget, nextToForget } from './forgetting.ts';

/** Handles every deadline up to `toMs`, each with itself as now, and moves the clock there. */
export function advance(fleet: Fleet, toMs: number): void {
  // Deadlines only ever become later, so the first one is checked only when its own time has come.
  while (isDue(fleet.deadlines, toMs) || isDue(fleet.forgetting, toMs)) {
    const next = isDue(fleet.deadlines, toMs) ? nextDeadline(fleet) : null;
    const forgotten = isDue(fleet.forgetting, toMs) ? nextToForget(fleet) : null;
    const isForgotten = forgotten !== null && (next === null || forgotten.atMs < next.atMs);
    const first = isForgotten ? forgotten : next;
    if (first === null || first.atMs > toMs) continue;
    (isForgotten ? fleet.forgetting : fleet.deadlines).pop();
    fleet.nowMs = Math.max(fleet.nowMs, first.atMs);
    if (isForgotten) forget(fleet, first);
    else handle(fleet, first);
    settle(fleet);
  }
  fleet.nowMs = Math.max(fleet.nowMs, toMs);
}

const isDue = (deadlines: Deadlines, toMs: number): boolean => deadlines.dueMs() <= toMs;

function handle(fleet: Fleet, { kind, id, attempt }: Deadline): void {
  if (kind === 'evaluation') {
    const data = { timer: kind, attempt };
    stepTask(fleet, id, { type: 'timer.fired', data, ...placeOf(fleet), facts: taskSurroundings(fleet, id) });
    return;
  }
  if (kind === 'limit' && attempt !== '') {
    for (const worker of fleet.scopes.get(attempt)?.workers ?? []) refreshPresenceOf(fleet, worker);
    return;
  }
  if (kind === 'unattended') {
    beginUnattended(fleet, id);
    return;
  }
  const record = fleet.workers.get(id);
  if (record === undefined) return;
  if (kind === 'waiting') {
    const sinceMs = fleet.nowMs - (fleet.policies.waitingMs ?? 0);
    stepWorker(fleet, record, { type: 'input.overdue', sinceMs, ...placeOf(fleet) });
    return;
  }
  if (kind === 'attempt') {
    resumeAttempt(fleet, record);
    return;
  }
  if (kind === 'escalate') {
    escalateStale(fleet, record);
    return;
  }
  if (kind === 'release') {
    handBack(fleet, record);
    return;
  }
  if (kind === 'stale') record.staleArmed = false;
  refreshPresenceOf(fleet, id);
}

function refreshPresenceOf(fleet: Fleet, worker: string): void {
  const record = fleet.workers.get(worker);
  if (record === undefined) return;
  refreshPresence(fleet, record);
  armStaleDeadlines(fleet, worker);
}

/** Does what follows from a step: a task that became ready ends the held attempts of its queue. */
export function settle(fleet: Fleet): void {
  for (const queue of fleet.arrivals) {
    fleet.arrivals.delete(queue);
    if (fleet.held.size > 0 && pendingIn(fleet, queue) > 0) resumeHeldOn(fleet, queue);
  }
}

/** The reason names this many of its tasks. */
const shownMax = 3;

/**
 * Escalates a worker that becomes stale while it holds a task, if its policy asks for it (`onStale: escalate`,
 * protocol.md §8).
 */
function escalateStale(fleet: Fleet, record: WorkerRecord): void {
  const { worker, tasks } = record.snapshot.context.worker;
  const named = tasks.length > shownMax ? [...tasks.slice(0, shownMax), '…'] : tasks;
  const reason = `Worker ${worker} is stale and holds ${named.join(', ')}`;
  const since = formatIsoTime(fleet.nowMs);
  const escalation = escalate({ seq: fleet.seq, since, reason, cause: 'stale', attempt: null, worker });
  for (const task of tasks)
    stepTask(fleet, task, {
      type: 'stale.escalated',
      escalation: { ...escalation, withWorker: true },
      ...placeOf(fleet),
    });
  stepWorker(fleet, record, { type: 'stale.escalated', escalation, ...placeOf(fleet) });
}

/**
 * Returns the tasks of a worker that stays stale to their queues, if the configuration asks for it (`releaseAfter`;
 * seed 004, Rate Limit Considerations: a new worker can be launched to replace it).
 */
function handBack(fleet: Fleet, record: WorkerRecord): void {
  const { worker, tasks } = record.snapshot.context.worker;
  for (const task of tasks) {
    stepTask(fleet, task, { type: 'task.released', data: { task }, ...placeOf(fleet) });
    stepWorker(fleet, record, { type: 'task.lost', data: { task, isOpen: true }, ...placeOf(fleet) });
    fleet.outcomes.push({ kind: 'handedBack', task, worker });
  }
}
