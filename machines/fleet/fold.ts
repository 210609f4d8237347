/**
 * The fold: entries in the log's order, with the log's time, make states and decisions; nothing else does. Equal logs
 * give equal fleets, on every replica, in a replay and in a browser.
 */
import type { StoredEntry } from '../entries/index.ts';
import { advance, settle } from './clock.ts';
import { type Fleet, queueOf } from './fleet.ts';
import { foldOwnFleet } from './fold-own-fleet.ts';
import { foldOwnTask } from './fold-own-task.ts';
import { foldOwnWorker } from './fold-own-worker.ts';
import { foldTask } from './fold-task.ts';
import { foldWorker } from './fold-worker.ts';
import type { Outcome } from './outcome.ts';

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
      foldTask(fleet, entry, owner ?? null);
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
  settle(fleet);
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
