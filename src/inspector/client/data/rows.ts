/** Reads the rows of lists: their states, order, urgency and cost, and the figures of queues. */
import {
  isUnjudged as isUnjudgedWorker,
  needsPerson,
  type Urgency,
  urgencies,
  urgencyOf as urgencyOfWorker,
} from '../../../../machines/replay/urgency.ts';
import type { State } from '../../../../machines/values/states.ts';
import type { QueueRow, TaskRow, WorkerRow } from '../../rows.ts';

export type { QueueRow, TaskRow, WorkerRow };

/** Returns what is urgent: who waits for a person, and for how long; then what may become so. */
const seenOf = (row: WorkerRow) => ({
  state: row.state,
  presence: row.presence,
  cause: row.lastCause,
  isAcknowledged: row.isAcknowledged,
  asks: row.awaitsInput,
  holdsTask: row.tasksHeld > 0,
});

export const isUnjudged = (row: WorkerRow): boolean => isUnjudgedWorker(seenOf(row));
export const rankOf = (row: WorkerRow): Urgency => urgencyOfWorker(seenOf(row));
export const waitsForPerson = (row: WorkerRow): boolean => needsPerson(rankOf(row));

/** Tells whether a person's pause holds. One with a time ends without an entry, so its row stays as it was. */
export const isPaused = ({ pausedBy, pausedUntilMs }: WorkerRow, nowMs: number): boolean =>
  pausedBy !== null && (pausedUntilMs === null || nowMs < pausedUntilMs);

/** Used by a worker or for a task; 0 and 0: nothing was reported. */
export type Used = Pick<WorkerRow, 'usd' | 'tokens'>;
export const hasUsage = ({ usd, tokens }: Used): boolean => usd > 0 || tokens > 0;

/** Returns a number to sort by, the highest cost first; tokens count where dollars are equal, or not known. */
export const costOrder = (row: Used): number | null => (hasUsage(row) ? -(row.usd + row.tokens * 1e-15) : null);

/** The time since which the worker has been in its state. */
export const sinceMsOf = (row: WorkerRow): number => row.stateSinceMs ?? row.lastSeenMs;

/** More than any time in milliseconds; ranks times this stay exact. */
const rankStep = 1e14;

/** Returns a number to sort by, smallest first: the longest wait first, but of ended workers the latest. */
export function urgencyOf(row: WorkerRow): number {
  const rank = rankOf(row);
  const sinceMs = sinceMsOf(row);
  return urgencies.indexOf(rank) * rankStep + (rank === 'idle' || rank === 'stopped' ? rankStep - sinceMs : sinceMs);
}

/** The most urgent first. */
const taskUrgencies: readonly State[] = ['escalated', 'blocked', 'validating', 'working', 'idle', 'stopped'];

export const taskUrgencyOf = (row: TaskRow): number => taskUrgencies.indexOf(row.state);

type Ordered = Pick<TaskRow, 'state' | 'priority' | 'createdSeq'>;

/** Tasks that wait stand in the order in which they are claimed, others in that of their ids. */
export const queueOrder = (a: Ordered, b: Ordered): number =>
  a.state === 'idle' && b.state === 'idle' ? b.priority - a.priority || a.createdSeq - b.createdSeq : 0;

/** `oldestMs`: since when the task waits that waits the longest; null: none waits. `done`: completed within the last hour. */
export type QueueFigures = { readonly oldestMs: number | null; readonly done: number };

const hourMs = 3_600_000;
/** The figures of a queue without tasks. */
export const noFigures: QueueFigures = { oldestMs: null, done: 0 };

/** Reads all tasks once, for all queues. @param nowMs by the log's clock */
export function figuresOf(tasks: Iterable<TaskRow>, nowMs: number): Map<string, QueueFigures> {
  const found = new Map<string, QueueFigures>();
  for (const { queue, state, outcome, sinceMs } of tasks) {
    if (queue === null) continue;
    const { oldestMs, done } = found.get(queue) ?? noFigures;
    const isDone = outcome === 'completed' && sinceMs > nowMs - hourMs;
    const waits = state === 'idle';
    found.set(queue, {
      oldestMs: waits ? Math.min(sinceMs, oldestMs ?? sinceMs) : oldestMs,
      done: done + (isDone ? 1 : 0),
    });
  }
  return found;
}
