/**
 * The fold turns entries, in the order and time of the log, into states and decisions. Equal logs give equal fleets, on
 * every replica, in a replay and in a browser.
 */
import type { StoredEntry, TaskEntry, WorkerEntry } from '../entries/index.ts';
import type { Decision } from '../guards/decision.ts';
import type { TaskEvent, TaskSurroundings } from '../task/events.ts';
import { isByPerson } from '../worker/changes.ts';
import { closeSession, openAttempt, supersedeAttempt } from './attempts.ts';
import { type Fleet, fleetKey, positionOf, type TaskRecord, type WorkerRecord } from './fleet.ts';
import { foldOwnFleet, foldOwnQueue, foldOwnTask, foldOwnWorker } from './fold-own.ts';
import type { FoldStep } from './outcome.ts';
import { ownerFor } from './owner.ts';
import { policyInForce } from './policies.ts';
import { staleFromMs } from './presence.ts';
import { trackAttendance } from './queues/attendance.ts';
import {
  claimTask,
  clearFilesOf,
  growthOfPlan,
  loseTask,
  planTask,
  releaseByWorker,
  resumeTasks,
} from './queues/claims.ts';
import { reportDepth } from './queues/queues.ts';
import { limitReached, notInState, refuse } from './refusals.ts';
import { describeFull, isStateFull } from './state-size.ts';
import { takeDecision } from './stored-decisions.ts';
import { createTask, creationFault, stepTaskWithin, taskSurroundings } from './tasks.ts';
import { advance, settle } from './time/clock.ts';
import { armStaleDeadlines, armStaleness, sweepDeadlines } from './time/due-time.ts';
import { addUsage } from './usage.ts';
import { absentWorkerOf, changeLimit, eventOf, refreshPresence, stepWithin, workerOf } from './workers.ts';

/**
 * Applies a `decision` entry as the decision of its attempt. Changes nothing if the fold already made the same
 * decision, which it always does under the same rules.
 */
export function foldDecision(fleet: Fleet, decision: Decision): FoldStep {
  const first = fleet.deadlines.firstMark();
  if (fleet.unknownRules !== null || !takeDecision(fleet, decision)) return nothing;
  settle(fleet);
  return endStep(fleet, first);
}

const nothing: FoldStep = Object.freeze({ outcomes: Object.freeze([]), touched: new Set<string>() });

/**
 * Fires all deadlines due by the entry's timestamp, then applies the entry. Timestamps never move the clock backwards.
 * Does nothing once an unknown version of the rules is in force (`fleet.unknownRules`).
 */
export function foldEntry(fleet: Fleet, { seq, atMs, entry, owner }: StoredEntry): FoldStep {
  if (fleet.unknownRules !== null) return nothing;
  const first = fleet.deadlines.firstMark();
  advance(fleet, atMs);
  fleet.seq = seq;
  switch (entry.area) {
    case 'worker':
      foldWorker(fleet, entry, seq, owner ?? null);
      break;
    case 'task':
      foldTask(fleet, entry, owner ?? null);
      break;
    case 'queue':
      reportDepth(fleet, entry.id, entry.data.pending);
      break;
    case 'ownWorker':
      foldOwnWorker(fleet, entry);
      break;
    case 'ownTask':
      foldOwnTask(fleet, entry);
      break;
    case 'ownQueue':
      foldOwnQueue(fleet, entry);
      break;
    case 'ownFleet':
      foldOwnFleet(fleet, entry, seq);
      break;
  }
  settle(fleet);
  return endStep(fleet, first);
}

/** Fires every deadline up to `toMs`, each at its own time, then moves the clock to `toMs`. */
export function advanceClock(fleet: Fleet, toMs: number): FoldStep {
  if (fleet.unknownRules !== null) return nothing;
  const first = fleet.deadlines.firstMark();
  advance(fleet, toMs);
  return endStep(fleet, first);
}

/**
 * Ends a step and returns its results. Allocates nothing for the many entries without any.
 * @param first `firstMark` before the step: as long as it is equal, the next timer is the same
 */
function endStep(fleet: Fleet, first: number): FoldStep {
  sweepDeadlines(fleet);
  if (fleet.deadlines.firstMark() !== first) fleet.touched.add(fleetKey);
  const { outcomes, touched } = fleet;
  if (outcomes.length === 0 && touched.size === 0) return nothing;
  if (outcomes.length > 0) fleet.outcomes = [];
  if (touched.size > 0) fleet.touched = new Set();
  return { outcomes, touched };
}

// Entries about workers: entries that are not valid in the current state are refused, all others go to the worker's
// machine (protocol.md §3 and §4).

function foldWorker(fleet: Fleet, entry: WorkerEntry, seq: number, owner: string | null): void {
  if (!fleet.workers.has(entry.id) && isStateFull(fleet)) {
    refuse(fleet, entry, describeFull(fleet.stateSizeMax));
    return;
  }
  if (entry.type === 'usage.reported') {
    const record = absentWorkerOf(fleet, entry.id);
    record.namedMs = fleet.nowMs;
    addUsage(fleet, record, entry);
    return;
  }
  const record = workerOf(fleet, entry.id);
  const beforeMs = staleFromMs(record);
  record.lastSeenMs = fleet.nowMs;
  record.namedMs = fleet.nowMs;
  const named = 'task' in entry.data ? fleet.tasks.get(entry.data.task) : undefined;
  if (named !== undefined) named.namedMs = fleet.nowMs;
  apply(fleet, record, entry, seq, owner);
  armStaleness(fleet, record, beforeMs);
  if (record.snapshot.value.presence !== 'active') refreshPresence(fleet, record);
  // A refused entry only updates `lastSeenMs`, but that may make the worker active.
  if (record.attends === null) trackAttendance(fleet, record);
}

function apply(fleet: Fleet, record: WorkerRecord, entry: WorkerEntry, seq: number, owner: string | null): void {
  const refusal = notInState(fleet, entry) ?? limitReached(fleet, entry);
  if (refusal !== null) {
    refuse(fleet, entry, refusal);
    return;
  }
  const { worker: context } = record.snapshot.context;
  switch (entry.type) {
    case 'tool.started':
      stepWithin(fleet, record, eventOf(fleet, entry, { inForce: policyInForce(fleet, context) }));
      resumeTasks(fleet, record);
      return;
    case 'stop.attempted':
      openAttempt(fleet, record, entry, seq, owner);
      return;
    case 'task.claimed':
      claimTask(fleet, record, entry.data);
      return;
    case 'task.completed':
    case 'task.failed':
    case 'task.released':
      releaseByWorker(fleet, record, entry);
      return;
    case 'session.ended':
      closeSession(fleet, record, entry);
      return;
    case 'prompt.submitted':
      if (context.ended !== 'retired' && isByPerson(entry.data)) supersedeAttempt(fleet, record);
      break;
    case 'limit.reached':
    case 'limit.cleared':
      if (stepWithin(fleet, record, eventOf(fleet, entry))) changeLimit(fleet, record, entry);
      return;
    case 'worker.registered':
      if (stepWithin(fleet, record, eventOf(fleet, entry)) && entry.data.queue !== undefined)
        fleet.arrivals.add(entry.data.queue);
      return;
  }
  stepWithin(fleet, record, eventOf(fleet, entry));
  if (workTypes.has(entry.type)) resumeTasks(fleet, record);
}

const workTypes: ReadonlySet<string> = new Set(['prompt.submitted', 'tool.used', 'plan.updated', 'step.updated']);

// Entries about tasks: entries that are not valid in the current state are refused (protocol.md §3, §4 and §7).

function foldTask(fleet: Fleet, entry: TaskEntry, owner: string | null): void {
  const { id, type } = entry;
  const facts = factsOf(fleet, entry, owner);
  const event = { type, data: entry.data, ...positionOf(fleet), facts } as TaskEvent;
  const known = fleet.tasks.get(id);
  if (known !== undefined) known.namedMs = fleet.nowMs;
  const refusal =
    notInState(fleet, entry) ??
    limitReached(fleet, entry) ??
    (known === undefined ? creationFault(fleet, id, event) : null);
  if (refusal !== null) {
    refuse(fleet, entry, refusal);
    return;
  }
  // Only `task.created` assigns a queue.
  if (known === undefined) createTask(fleet, id, null);
  const record = fleet.tasks.get(id) as TaskRecord;
  const { worker } = record.snapshot.context;
  const workerGrowth =
    worker === null || type !== 'task.created' ? 0 : growthOfPlan(fleet, worker, id, entry.data.plan);
  if (!stepTaskWithin(fleet, id, record, event, workerGrowth) || worker === null) return;
  if (type === 'task.created') {
    if (entry.data.plan !== undefined) planTask(fleet, worker, id, entry.data.plan);
    // The task's policy may have changed, and with it the queue of its worker.
    const holder = fleet.workers.get(worker);
    if (holder !== undefined) trackAttendance(fleet, holder);
    armStaleDeadlines(fleet, worker);
  }
  if (type === 'task.cancelled') loseTask(fleet, worker, id);
  if (type === 'iteration.started' || type === 'iteration.advanced') clearFilesOf(fleet, worker);
}

/** Returns the facts for an entry about a task; undefined if no hook will read them. */
function factsOf(fleet: Fleet, { id, type, data }: TaskEntry, owner: string | null): TaskSurroundings | undefined {
  if (type !== 'iteration.validated') return fleet.evaluating.has(id) ? taskSurroundings(fleet, id) : undefined;
  const key = `${id}:${data.attempt ?? `seq-${fleet.seq}`}`;
  return { ...taskSurroundings(fleet, id), owner: ownerFor(fleet, key, owner) };
}
