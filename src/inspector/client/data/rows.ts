/** Derives urgency, order, cost and queue figures from rows. */
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

/** The fields that determine a worker's urgency. It stays escalated while a further attempt is judged. */
const seenOf = (row: WorkerRow) => ({
  state: row.escalatedFor === null ? row.state : ('escalated' as const),
  presence: row.presence,
  cause: row.lastCause,
  isAcknowledged: row.isAcknowledged,
  asks: row.awaitsInput,
  holdsTask: row.tasksHeld > 0,
});

export const isUnjudged = (row: WorkerRow): boolean => isUnjudgedWorker(seenOf(row));
export const rankOf = (row: WorkerRow): Urgency => urgencyOfWorker(seenOf(row));
export const waitsForPerson = (row: WorkerRow): boolean => needsPerson(rankOf(row));

/** Whether a person's pause is in effect. A timed pause ends without an entry, so the row does not change. */
export const isPaused = ({ pausedBy, pausedUntilMs }: WorkerRow, nowMs: number): boolean =>
  pausedBy !== null && (pausedUntilMs === null || nowMs < pausedUntilMs);

/** Usage of a worker or task. Both 0 if nothing was reported. */
export type Used = Pick<WorkerRow, 'usd' | 'tokens'>;
const hasUsage = ({ usd, tokens }: Used): boolean => usd > 0 || tokens > 0;

/** Sort key for the highest cost first. Tokens break ties, and count alone if dollars are unknown. */
export const costOrder = (row: Used): number | null => (hasUsage(row) ? -(row.usd + row.tokens * 1e-15) : null);

/** Sort key for the most tokens first. */
export const tokensOrder = ({ tokens }: Used): number | null => (tokens > 0 ? -tokens : null);

/** Larger than any time in milliseconds, but small enough that multiples stay exact. */
const rankStep = 1e14;

/** Sort key by urgency. Within a rank the longest wait comes first, but idle and stopped workers latest first. */
export function urgencyOf(row: WorkerRow): number {
  const rank = rankOf(row);
  const { sinceMs } = row;
  return urgencies.indexOf(rank) * rankStep + (rank === 'idle' || rank === 'stopped' ? rankStep - sinceMs : sinceMs);
}

/** Most urgent first. */
const taskUrgencies: readonly State[] = ['escalated', 'blocked', 'validating', 'working', 'idle', 'stopped'];

/**
 * Sort key by urgency. Within a state the longest wait comes first; waiting tasks are equal, stopped ones latest first.
 */
export function taskUrgencyOf({ state, sinceMs }: Pick<TaskRow, 'state' | 'sinceMs'>): number {
  const within = state === 'idle' ? 0 : state === 'stopped' ? rankStep - sinceMs : sinceMs;
  return taskUrgencies.indexOf(state) * rankStep + within;
}

type Ordered = Pick<TaskRow, 'state' | 'priority' | 'createdSeq'>;

/** Waiting tasks are ordered as they will be claimed. */
export const queueOrder = (a: Ordered, b: Ordered): number =>
  a.state === 'idle' && b.state === 'idle' ? b.priority - a.priority || a.createdSeq - b.createdSeq : 0;

/** Whether tasks wait in a queue that no worker attends. */
export const isUnattended = ({ pending, workers }: QueueRow): boolean => pending > 0 && workers === 0;

/** The workers that attend each queue, as in the fold: active, and neither stopped nor escalated. */
export function attendantsOf(workers: Iterable<WorkerRow>): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { id, queue, presence, state } of workers) {
    if (presence !== 'active' || state === 'stopped' || state === 'escalated') continue;
    const known = found.get(queue);
    if (known === undefined) found.set(queue, [id]);
    else known.push(id);
  }
  return found;
}

/** `oldestMs` is the start of the longest wait, or null. `done` counts tasks completed within the last hour. */
export type QueueFigures = { readonly oldestMs: number | null; readonly done: number };

const hourMs = 3_600_000;
/** Figures of a queue without tasks. */
export const noFigures: QueueFigures = { oldestMs: null, done: 0 };

/** Computes the figures of all queues in one pass. @param nowMs by the log's clock */
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
