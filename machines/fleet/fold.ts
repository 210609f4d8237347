/**
 * The fold: entries in the log's order, with the log's time, make states and decisions; nothing else does. Equal logs
 * give equal fleets, on every replica, in a replay and in a browser.
 */
import type { StoredEntry } from '../entries/index.ts';
import type { Decision } from '../guards/decision.ts';
import { type Fleet, fleetKey } from './fleet.ts';
import { foldOwnFleet, foldOwnQueue, foldOwnTask, foldOwnWorker } from './fold-own.ts';
import { foldTask } from './fold-task.ts';
import { foldWorker } from './fold-worker.ts';
import type { FoldStep } from './outcome.ts';
import { reportDepth } from './queues/queues.ts';
import { takeDecision } from './stored-decisions.ts';
import { advance, settle } from './time/clock.ts';
import { sweepDeadlines } from './time/due-time.ts';

/**
 * Takes a `decision` entry as the decision of its attempt. It changes nothing where the fold has made that one, which is
 * so wherever it was made by the same rules.
 */
export function foldDecision(fleet: Fleet, decision: Decision): FoldStep {
  const first = fleet.deadlines.firstMark();
  if (fleet.unknownRules !== null || !takeDecision(fleet, decision)) return nothing;
  settle(fleet);
  return endStep(fleet, first);
}

const nothing: FoldStep = Object.freeze({ outcomes: Object.freeze([]), touched: new Set<string>() });

/**
 * Folds one entry by the rules that are in force there: first what is due up to its time, then the entry itself. A time before the last counts as that one.
 * Behind a version of the rules that is not known here (`fleet.unknownRules`) nothing changes any more.
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

/**
 * Handles every deadline up to `toMs`, each with itself as now, and moves the clock there.
 */
export function advanceClock(fleet: Fleet, toMs: number): FoldStep {
  if (fleet.unknownRules !== null) return nothing;
  const first = fleet.deadlines.firstMark();
  advance(fleet, toMs);
  return endStep(fleet, first);
}

/**
 * Ends a step: takes what it leaves for its caller. Most entries only change the state: for them nothing is allocated.
 * @param first what the first deadline was before the step (`firstMark`): while that stays, so does the next timer
 */
function endStep(fleet: Fleet, first: number): FoldStep {
  fleet.workers.packResting();
  sweepDeadlines(fleet);
  if (fleet.deadlines.firstMark() !== first) fleet.touched.add(fleetKey);
  const { outcomes, touched } = fleet;
  if (outcomes.length === 0 && touched.size === 0) return nothing;
  if (outcomes.length > 0) fleet.outcomes = [];
  if (touched.size > 0) fleet.touched = new Set();
  return { outcomes, touched };
}
