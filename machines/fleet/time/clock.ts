/**
 * The log's clock. Deadlines fire in order, each at its own time, before any later entry is folded (protocol.md §1).
 */
import { resumeAttempt, resumeHeldOn } from '../attempts.ts';
import { type Fleet, pendingIn, positionOf } from '../fleet.ts';
import { escalateWithTasks, handBack } from '../hand-back.ts';
import { beginUnattended } from '../queues/attendance.ts';
import { stepTask, taskSurroundings } from '../tasks.ts';
import { refreshPresence, stepWorker } from '../workers.ts';
import type { Deadline, Deadlines } from './deadlines.ts';
import { armStaleDeadlines, nextDeadline } from './due-time.ts';
import { forget, nextToForget } from './forgetting.ts';

/** Fires every deadline up to `toMs`, each at its own time, then moves the clock to `toMs`. */
export function advance(fleet: Fleet, toMs: number): void {
  // Deadlines only move later, so the first one needs checking only when its time has come.
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
    stepTask(fleet, id, { type: 'timer.fired', data, ...positionOf(fleet), facts: taskSurroundings(fleet, id) });
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
    stepWorker(fleet, record, { type: 'input.overdue', sinceMs, ...positionOf(fleet) });
    return;
  }
  if (kind === 'attempt') {
    resumeAttempt(fleet, record);
    return;
  }
  if (kind === 'escalate') {
    escalateWithTasks(fleet, record);
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

/** Finishes a step: tasks that became ready end the held attempts of their queue. */
export function settle(fleet: Fleet): void {
  for (const queue of fleet.arrivals) {
    fleet.arrivals.delete(queue);
    if (fleet.held.size > 0 && pendingIn(fleet, queue) > 0) resumeHeldOn(fleet, queue);
  }
}
