/** What is urgent: who waits for a person, and for how long; then what may become so. */
import {
  isUnjudged as isUnjudgedWorker,
  needsPerson,
  type Urgency,
  urgencies,
  urgencyOf as urgencyOfWorker,
} from '../../../../machines/replay/urgency.ts';
import { type TaskRow, t, type WorkerRow, w } from '../data/row-fields.ts';
import { presenceOf, stateOf } from '../ui/states.ts';

const seenOf = (row: WorkerRow) => ({
  ...{ state: stateOf(row[w.state]), presence: presenceOf(row[w.presence]), cause: row[w.lastCause] },
  ...{ isAcknowledged: row[w.acknowledged] === 1, asks: row[w.awaitsInput] === 1, holdsTask: row[w.tasksHeld] > 0 },
});

export const isUnjudged = (row: WorkerRow): boolean => isUnjudgedWorker(seenOf(row));
export const rankOf = (row: WorkerRow): Urgency => urgencyOfWorker(seenOf(row));
export const waitsForPerson = (row: WorkerRow): boolean => needsPerson(rankOf(row));

/** Since when it is as it is. */
export const sinceMsOf = (row: WorkerRow): number => row[w.stateSinceMs] ?? row[w.lastSeenMs];

/** More than any time in milliseconds; ranks times this stay exact. */
const rankStep = 1e14;

/** To sort by, smallest first: what waits longest is first, but of what has ended the latest. */
export function urgencyOf(row: WorkerRow): number {
  const rank = rankOf(row);
  const sinceMs = sinceMsOf(row);
  return urgencies.indexOf(rank) * rankStep + (rank === 'idle' || rank === 'stopped' ? rankStep - sinceMs : sinceMs);
}

/** By index of the state. */
const taskRanks = [4, 3, 2, 1, 0, 5];

export const taskUrgencyOf = (row: TaskRow): number => taskRanks[row[t.state]] ?? 0;
