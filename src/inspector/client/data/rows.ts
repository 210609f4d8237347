/** Reads the rows of lists: their last decisions, states, order and urgency, and how often transitions are taken. */
import {
  isUnjudged as isUnjudgedWorker,
  needsPerson,
  type Urgency,
  urgencies,
  urgencyOf as urgencyOfWorker,
} from '../../../../machines/replay/urgency.ts';
import { presences, type State, workerStates } from '../../../../machines/values/states.ts';
import type { LastMoves, Moves, QueueRow, TaskRow, Transition, WorkerRow } from '../../messages.ts';

export type { QueueRow, TaskRow, WorkerRow };

const minuteMs = 60_000;
const windowMs = 10 * minuteMs;

/** Counts how often each transition was taken in the last ten minutes: begun by the service, kept up by the stream. */
export function createMoves() {
  const minutes = new Map<number, Map<string, Transition>>();
  let sinceMs = 0;
  const add = (minute: number, transitions: readonly Transition[]) => {
    const counts = minutes.get(minute) ?? new Map<string, Transition>();
    minutes.set(minute, counts);
    for (const [machine, from, to, event, count] of transitions) {
      if (from === to) continue;
      const key = `${machine}${from}${to}${event}`;
      counts.set(key, [machine, from, to, event, count + (counts.get(key)?.[4] ?? 0)]);
    }
  };
  return {
    reset(moves: Moves): void {
      minutes.clear();
      sinceMs = moves.sinceMs;
      for (const [minute, transitions] of moves.minutes) add(minute, transitions);
    },
    add(nowMs: number, transitions: readonly Transition[]): void {
      for (const minute of minutes.keys()) if (minute + minuteMs <= nowMs - windowMs) minutes.delete(minute);
      sinceMs = Math.max(sinceMs, nowMs - windowMs);
      add(nowMs - (nowMs % minuteMs), transitions);
    },
    /** Returns all moves in the form in which the service sends them. */
    all: (): Moves => ({ sinceMs, minutes: [...minutes].map(([minute, counts]) => [minute, [...counts.values()]]) }),
    /** The time since which moves are counted, by the log's clock. */
    since: (): number => sinceMs,
    /** Sums the moves of one machine over the minutes. */
    of(machine: 'w' | 't'): Transition[] {
      const sums = new Map<string, Transition>();
      for (const counts of minutes.values())
        for (const [key, transition] of counts) {
          if (transition[0] !== machine) continue;
          const [, from, to, event, count] = transition;
          sums.set(key, [machine, from, to, event, count + (sums.get(key)?.[4] ?? 0)]);
        }
      return [...sums.values()];
    },
  };
}

/** Returns what moved last. A transition that leads back to its own state is no move. */
export function lastOf(last: LastMoves, transitions: readonly Transition[]): LastMoves {
  const latest = (machine: 'w' | 't') => transitions.findLast(([it, from, to]) => it === machine && from !== to);
  return { w: latest('w') ?? last.w, t: latest('t') ?? last.t };
}

/** The states and presences of rows, which have them as numbers. */
export const stateOf = (index: number): State => workerStates[index] ?? 'idle';
export const presenceOf = (index: number) => presences[index] ?? 'active';

/** Returns what is urgent: who waits for a person, and for how long; then what may become so. */
const seenOf = (row: WorkerRow) => ({
  ...{ state: stateOf(row.state), presence: presenceOf(row.presence), cause: row.lastCause },
  ...{ isAcknowledged: row.acknowledged === 1, asks: row.awaitsInput === 1, holdsTask: row.tasksHeld > 0 },
});

export const isUnjudged = (row: WorkerRow): boolean => isUnjudgedWorker(seenOf(row));
export const rankOf = (row: WorkerRow): Urgency => urgencyOfWorker(seenOf(row));
export const waitsForPerson = (row: WorkerRow): boolean => needsPerson(rankOf(row));

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

/** Ranks by the index of the state. */
const taskRanks = [4, 3, 2, 1, 0, 5];

export const taskUrgencyOf = (row: TaskRow): number => taskRanks[row.state] ?? 0;

type Ordered = Pick<TaskRow, 'state' | 'priority' | 'createdSeq'>;

/** Tasks that wait stand in the order in which they are claimed, others in that of their ids. */
export const queueOrder = (a: Ordered, b: Ordered): number =>
  stateOf(a.state) === 'idle' && stateOf(b.state) === 'idle'
    ? b.priority - a.priority || a.createdSeq - b.createdSeq
    : 0;

/** `oldestMs`: since when the task waits that waits the longest; null: none waits. `done`: completed within the last hour. */
export type QueueFigures = { readonly oldestMs: number | null; readonly done: number };

const hourMs = 60 * minuteMs;
/** The figures of a queue without tasks. */
export const noFigures: QueueFigures = { oldestMs: null, done: 0 };

/** Reads all tasks once, for all queues. @param nowMs by the log's clock */
export function figuresOf(tasks: Iterable<TaskRow>, nowMs: number): Map<string, QueueFigures> {
  const found = new Map<string, QueueFigures>();
  for (const { queue, state, outcome, sinceMs } of tasks) {
    if (queue === null) continue;
    const { oldestMs, done } = found.get(queue) ?? noFigures;
    const isDone = outcome === 'completed' && sinceMs > nowMs - hourMs;
    const waits = stateOf(state) === 'idle';
    found.set(queue, {
      oldestMs: waits ? Math.min(sinceMs, oldestMs ?? sinceMs) : oldestMs,
      done: done + (isDone ? 1 : 0),
    });
  }
  return found;
}
