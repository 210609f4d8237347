/**
 * The fold: entries in the log's order, with the log's time, make states and decisions; nothing else does. Equal logs
 * give equal fleets, on every replica, in a replay and in a browser.
 */

import type { OwnFleetEntry, StoredEntry } from '../entries/index.ts';
import type { Deadline } from './deadlines.ts';
import { resumeEvaluation, reviewEvaluations } from './evaluation.ts';
import { refreshPresence, staleAfterMs } from './facts.ts';
import { type Fleet, type Outcome, pendingIn, queueOf } from './fleet.ts';
import { foldOwnWorker } from './fold-own-worker.ts';
import { foldOwnTask, foldTask } from './fold-task.ts';
import { foldWorker, resumeAttempt, resumeHeldOn } from './fold-worker.ts';
import { armHandBack, handBack, handBackDueMs } from './hand-back.ts';

/**
 * Folds one entry: first what is due up to its time, then the entry itself. A time before the last counts as that one.
 * @returns what happened, in order
 */
export function foldEntry(fleet: Fleet, { seq, atMs, entry, owner }: StoredEntry): readonly Outcome[] {
  advance(fleet, atMs);
  fleet.seq = seq;
  switch (entry.area) {
    case 'worker':
      foldWorker(fleet, entry, seq, owner ?? null);
      break;
    case 'task':
      foldTask(fleet, entry, seq, owner ?? null);
      break;
    case 'queue':
      queueOf(fleet, entry.id).reported = entry.data.pending;
      fleet.arrivals.add(entry.id);
      fleet.watcher?.queue(entry.id);
      break;
    case 'ownWorker':
      foldOwnWorker(fleet, entry);
      break;
    case 'ownTask':
      foldOwnTask(fleet, entry);
      break;
    case 'ownFleet':
      foldOwnFleet(fleet, entry, seq);
      break;
  }
  serveArrivals(fleet);
  reviewEvaluations(fleet);
  return takeOutcomes(fleet);
}

/**
 * Handles every deadline up to `toMs`, each with itself as now, and moves the clock there.
 * @returns what happened, in order
 */
export function advanceClock(fleet: Fleet, toMs: number): readonly Outcome[] {
  advance(fleet, toMs);
  return takeOutcomes(fleet);
}

const nothing: readonly Outcome[] = Object.freeze([]);

/** Most entries only change the state: for them nothing is allocated. */
function takeOutcomes(fleet: Fleet): readonly Outcome[] {
  const { outcomes } = fleet;
  if (outcomes.length === 0) return nothing;
  fleet.outcomes = [];
  return outcomes;
}

function advance(fleet: Fleet, toMs: number): void {
  // Deadlines only ever move to later, so what stands first by its own time is looked at only when that has come.
  while ((fleet.deadlines.peek()?.atMs ?? Number.POSITIVE_INFINITY) <= toMs) {
    const next = nextDeadline(fleet);
    if (next === null || next.atMs > toMs) continue;
    fleet.deadlines.pop();
    fleet.nowMs = Math.max(fleet.nowMs, next.atMs);
    handle(fleet, next);
    serveArrivals(fleet);
    reviewEvaluations(fleet);
  }
  fleet.nowMs = Math.max(fleet.nowMs, toMs);
}

/** The next moment at which something happens by itself, or null. Deadlines that no longer hold are dropped. */
export function nextDeadline(fleet: Fleet): Deadline | null {
  for (;;) {
    const next = fleet.deadlines.peek();
    if (next === undefined) return null;
    const movedTo = holdsStill(fleet, next);
    if (movedTo === next.atMs) return next;
    fleet.deadlines.pop();
    if (movedTo !== null) fleet.deadlines.push({ ...next, atMs: movedTo });
  }
}

/** When a deadline is due by now, seen from the state; null: it no longer is one. */
function holdsStill(fleet: Fleet, deadline: Deadline): number | null {
  const { kind, id, attempt, atMs } = deadline;
  if (kind === 'evaluation') {
    const open = fleet.tasks.get(id)?.snapshot.context.evaluations.find((it) => it.attempt === attempt);
    return open?.pending.deadlineMs === atMs ? atMs : null;
  }
  if (kind === 'limit') return atMs;
  const record = fleet.workers.get(id);
  if (record === undefined) return null;
  if (kind === 'stale') return Math.max(atMs, record.lastSeenMs + staleAfterMs);
  if (kind === 'release') return handBackDueMs(fleet, record);
  const open = record.snapshot.context.worker.attempt;
  return open?.attempt === attempt && record.wakeMs === atMs ? atMs : null;
}

function handle(fleet: Fleet, { kind, id, attempt }: Deadline): void {
  if (kind === 'evaluation') {
    resumeEvaluation(fleet, id, attempt, null);
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
  if (kind === 'release') {
    handBack(fleet, id, record);
    return;
  }
  if (kind === 'stale') record.staleArmed = false;
  refreshPresenceOf(fleet, id);
}

function refreshPresenceOf(fleet: Fleet, worker: string): void {
  const record = fleet.workers.get(worker);
  if (record === undefined) return;
  refreshPresence(fleet, record);
  armHandBack(fleet, worker);
}

/** A task that became ready ends the held attempts of its queue. */
function serveArrivals(fleet: Fleet): void {
  for (const queue of fleet.arrivals) {
    fleet.arrivals.delete(queue);
    if (fleet.held.size > 0 && pendingIn(fleet, queue) > 0) resumeHeldOn(fleet, queue);
  }
}

function foldOwnFleet(fleet: Fleet, entry: OwnFleetEntry, seq: number): void {
  switch (entry.type) {
    case 'replica.joined':
      fleet.replicas.set(entry.data.replica, fleet.nowMs);
      break;
    case 'replica.left':
      fleet.replicas.delete(entry.data.replica);
      break;
    case 'policy.set':
      if (fleet.policyPinned) break;
      fleet.policies = entry.data;
      fleet.policySeq = seq;
      for (const worker of fleet.workers.keys()) armHandBack(fleet, worker);
      break;
  }
}
