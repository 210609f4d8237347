/** What is urgent: who waits for a person, and for how long; then what may become so. */
import { type TaskRow, t, type WorkerRow, w } from '../data/row-fields.ts';
import { presenceOf, stateOf } from '../ui/states.ts';

/** First to last. */
const ranks = [
  'escalated',
  'asks',
  'acknowledged',
  'blocked',
  'stale',
  'unjudged',
  'validating',
  'working',
  'idle',
  'stopped',
] as const;
type Rank = (typeof ranks)[number];

/** Idle after a stop that nothing judged: it may look done, and is not. */
export const isUnjudged = (row: WorkerRow): boolean =>
  stateOf(row[w.state]) === 'idle' && row[w.lastCause] === 'unjudged';

export function rankOf(row: WorkerRow): Rank {
  const state = stateOf(row[w.state]);
  if (state === 'escalated') return row[w.acknowledged] === 1 ? 'acknowledged' : 'escalated';
  if (state === 'stopped') return 'stopped';
  if (row[w.awaitsInput] === 1) return 'asks';
  if (state === 'blocked') return 'blocked';
  if (presenceOf(row[w.presence]) === 'stale' && row[w.tasksHeld] > 0) return 'stale';
  return isUnjudged(row) ? 'unjudged' : state;
}

/** It goes on only when a person does something. */
export const waitsForPerson = (row: WorkerRow): boolean => ranks.indexOf(rankOf(row)) <= ranks.indexOf('acknowledged');

/** Since when it is as it is. */
export const sinceMsOf = (row: WorkerRow): number => row[w.stateSinceMs] ?? row[w.lastSeenMs];

/** More than any time in milliseconds; ranks times this stay exact. */
const rankStep = 1e14;

/** To sort by, smallest first: what waits longest is first, but of what has ended the latest. */
export function urgencyOf(row: WorkerRow): number {
  const rank = rankOf(row);
  const sinceMs = sinceMsOf(row);
  return ranks.indexOf(rank) * rankStep + (rank === 'idle' || rank === 'stopped' ? rankStep - sinceMs : sinceMs);
}

/** By index of the state. */
const taskRanks = [4, 3, 2, 1, 0, 5];

export const taskUrgencyOf = (row: TaskRow): number => taskRanks[row[t.state]] ?? 0;
