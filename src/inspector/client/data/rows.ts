import {
  isUnjudged as isUnjudgedWorker,
  needsPerson,
  type Urgency,
  urgencies,
  urgencyOf as urgencyOfWorker,
} from '../../../../machines/replay/urgency.ts';
import { presences, type State, workerStates } from '../../../../machines/values/states.ts';
import type { LastMoves, Moves, QueueRow, TaskRow, Transition, WorkerRow } from '../../messages.ts';

/** The columns of the stream's rows, by name. */
export type { QueueRow, TaskRow, WorkerRow };

export const w = {
  id: 0,
  state: 1,
  presence: 2,
  retryCount: 3,
  retryMax: 4,
  keepAlives: 5,
  idleSinceMs: 6,
  idleLimitMs: 7,
  task: 8,
  tasksHeld: 9,
  agent: 10,
  lastDecision: 11,
  lastCause: 12,
  lastDecisionMs: 13,
  lastSeenMs: 14,
  parent: 15,
  waitsFor: 16,
  waitUntilMs: 17,
  acknowledged: 18,
  planDone: 19,
  planTotal: 20,
  policy: 21,
  queue: 22,
  reason: 23,
  stateSinceMs: 24,
  awaitsInput: 25,
} as const;

export const t = {
  id: 0,
  state: 1,
  worker: 2,
  queue: 3,
  title: 4,
  iteration: 5,
  maxIterations: 6,
  hooks: 7,
  outcome: 8,
  reason: 9,
  stateSinceMs: 10,
  escalatedWith: 11,
  priority: 12,
  createdSeq: 13,
} as const;

export const q = { id: 0, pending: 1, reported: 2 } as const;

/** How often each transition was taken in the last ten minutes: begun by the service, kept up by the stream. */
const minuteMs = 60_000;
const windowMs = 10 * minuteMs;

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
    /** As the service sends them. */
    all: (): Moves => ({ sinceMs, minutes: [...minutes].map(([minute, counts]) => [minute, [...counts.values()]]) }),
    /** Since when, by the log's clock. */
    since: (): number => sinceMs,
    /** All of one machine, summed over the minutes. */
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

/** What moved last. Those that lead back to where they came from are no moves. */
export function lastOf(last: LastMoves, transitions: readonly Transition[]): LastMoves {
  const latest = (machine: 'w' | 't') => transitions.findLast(([it, from, to]) => it === machine && from !== to);
  return { w: latest('w') ?? last.w, t: latest('t') ?? last.t };
}

/** The states and presences of rows, which have them as numbers. */
export const stateOf = (index: number): State => workerStates[index] ?? 'idle';
export const presenceOf = (index: number) => presences[index] ?? 'active';

/** What is urgent: who waits for a person, and for how long; then what may become so. */
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

/** Tasks that wait stand in the order in which they are claimed, others in that of their ids. */
export const queueOrder = (a: TaskRow, b: TaskRow): number =>
  stateOf(a[t.state]) === 'idle' && stateOf(b[t.state]) === 'idle'
    ? b[t.priority] - a[t.priority] || a[t.createdSeq] - b[t.createdSeq]
    : 0;
