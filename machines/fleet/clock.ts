/** The log's clock: deadlines are handled in order, each at its own time, before anything later is folded (protocol.md §1). */
import { resumeAttempt, resumeHeldOn } from './attempts.ts';
import type { Deadline, Deadlines } from './deadlines.ts';
import { dueMsOf } from './due-time.ts';
import { type Fleet, pendingIn, placeOf } from './fleet.ts';
import { forget, nextToForget } from './forgetting.ts';
import { handBack } from './hand-back.ts';
import { refreshPresence } from './presence-change.ts';
import { armStaleDeadlines } from './stale-deadlines.ts';
import { escalateStale } from './stale-escalation.ts';
import { stepTask, taskSurroundings } from './tasks.ts';

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
  const record = fleet.workers.get(id);
  if (record === undefined) return;
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
