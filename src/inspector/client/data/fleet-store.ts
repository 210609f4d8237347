/** The fleet as the page knows it: rows by id, and counts over all of them. */
import { signal } from '@preact/signals';
import { presences, workerStates } from '../../../../machines/values/states.ts';
import type { Delta, Full, LastMoves, PastFleet } from '../../messages.ts';
import {
  createMoves,
  lastOf,
  type QueueRow,
  q,
  stateOf,
  type TaskRow,
  t,
  type WorkerRow,
  w,
  waitsForPerson,
} from './rows.ts';

export type FleetStore = ReturnType<typeof createFleetStore>;

export function createFleetStore() {
  const workers = new Map<string, WorkerRow>();
  const tasks = new Map<string, TaskRow>();
  const queues = new Map<string, QueueRow>();
  const counts = createCounts();
  const moves = createMoves();
  const signals = {
    /** Grows with each change; components that read it are rendered again. */
    version: signal(0),
    /** Grows when an id is new, or everything is. */
    ids: signal(0),
    loaded: signal(false),
    /** The latest moves of any worker and of any task. */
    last: signal<LastMoves>({ w: null, t: null }),
    /** Grows with each move that is counted. */
    moved: signal(0),
  };
  /** Workers whose cells have not been redrawn yet. */
  const dirty = new Set<string>();
  /** Those that wait for a person: looked at with each change, so they are not searched for. */
  const waitingWorkers = new Set<string>();
  const waitingTasks = new Set<string>();

  const putWorker = (row: WorkerRow) => {
    const before = workers.get(row[w.id]);
    counts.replaceWorker(before, row);
    workers.set(row[w.id], row);
    if (waitsForPerson(row)) waitingWorkers.add(row[w.id]);
    else waitingWorkers.delete(row[w.id]);
    dirty.add(row[w.id]);
    return before === undefined;
  };
  const putTask = (row: TaskRow) => {
    const before = tasks.get(row[t.id]);
    counts.replaceTask(before, row);
    tasks.set(row[t.id], row);
    if (stateOf(row[t.state]) === 'escalated') waitingTasks.add(row[t.id]);
    else waitingTasks.delete(row[t.id]);
    return before === undefined;
  };
  const putQueue = (row: QueueRow) => {
    const isNew = !queues.has(row[q.id]);
    queues.set(row[q.id], row);
    return isNew;
  };

  return {
    workers: workers as ReadonlyMap<string, WorkerRow>,
    tasks: tasks as ReadonlyMap<string, TaskRow>,
    queues: queues as ReadonlyMap<string, QueueRow>,
    ...{ workerCounts: counts.workers, taskCounts: counts.tasks, presenceCounts: counts.presences },
    ...signals,
    moves,
    dirty,
    ...{ waitingWorkers: waitingWorkers as ReadonlySet<string>, waitingTasks: waitingTasks as ReadonlySet<string> },
    apply(change: Full | Delta | PastFleet, isWhole: boolean): void {
      if (isWhole) for (const all of [workers, tasks, queues, counts, waitingWorkers, waitingTasks]) all.clear();
      let isNew = isWhole;
      for (const row of change.workers ?? []) isNew = putWorker(row) || isNew;
      for (const row of change.tasks ?? []) isNew = putTask(row) || isNew;
      for (const row of change.queues ?? []) isNew = putQueue(row) || isNew;
      const transitions = 'transitions' in change ? (change.transitions ?? []) : [];
      if ('last' in change) signals.last.value = change.last;
      else if (transitions.length > 0) signals.last.value = lastOf(signals.last.peek(), transitions);
      if ('moves' in change) moves.reset(change.moves);
      else if ('nowMs' in change) moves.add(change.nowMs, transitions);
      if (transitions.length > 0 || 'moves' in change) signals.moved.value += 1;
      if (isNew) signals.ids.value += 1;
      signals.loaded.value = true;
      signals.version.value += 1;
    },
  };
}

/** How many actors are in each state, in the order of `workerStates` and `presences`. */
function createCounts() {
  const workers = workerStates.map(() => 0);
  const tasks = workerStates.map(() => 0);
  const presenceCounts = presences.map(() => 0);
  const add = (counts: number[], index: number, by: 1 | -1) => {
    counts[index] = (counts[index] ?? 0) + by;
  };
  return {
    workers: workers as readonly number[],
    tasks: tasks as readonly number[],
    presences: presenceCounts as readonly number[],
    replaceWorker(before: WorkerRow | undefined, row: WorkerRow): void {
      if (before !== undefined) {
        add(workers, before[w.state], -1);
        add(presenceCounts, before[w.presence], -1);
      }
      add(workers, row[w.state], 1);
      add(presenceCounts, row[w.presence], 1);
    },
    replaceTask(before: TaskRow | undefined, row: TaskRow): void {
      if (before !== undefined) add(tasks, before[t.state], -1);
      add(tasks, row[t.state], 1);
    },
    clear(): void {
      for (const counts of [workers, tasks, presenceCounts]) counts.fill(0);
    },
  };
}
