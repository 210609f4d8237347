/** The page's copy of the fleet: rows by id, and counts. */
import { signal } from '@preact/signals';
import { viewedPresences, workerStates } from '../../../../machines/values/states.ts';
import type { Delta, Full, LastMoves, PastFleet } from '../../messages.ts';
import { createMoves } from '../../moves.ts';
import { queueRows, taskRows, workerRows } from '../../rows.ts';
import { type QueueRow, type TaskRow, type WorkerRow, waitsForPerson } from './rows.ts';

type KnownRows = {
  readonly workers: ReadonlyMap<string, WorkerRow>;
  readonly tasks: ReadonlyMap<string, TaskRow>;
  readonly queues: ReadonlyMap<string, QueueRow>;
};
export type FleetStore = ReturnType<typeof createFleetStore>;

export function createFleetStore() {
  const workers = new Map<string, WorkerRow>();
  const tasks = new Map<string, TaskRow>();
  const queues = new Map<string, QueueRow>();
  const counts = createCounts();
  const moves = createMoves();
  const signals = createSignals();
  /** Workers whose cells must be redrawn. */
  const dirty = new Set<string>();
  /** Workers that wait for a person, maintained with each change to avoid searching all rows. */
  const waitingWorkers = new Set<string>();
  const waitingTasks = new Set<string>();

  const putWorker = (row: WorkerRow) => {
    const before = workers.get(row.id);
    counts.replaceWorker(before, row);
    workers.set(row.id, row);
    if (waitsForPerson(row)) waitingWorkers.add(row.id);
    else waitingWorkers.delete(row.id);
    dirty.add(row.id);
    return before === undefined;
  };
  const putTask = (row: TaskRow) => {
    const before = tasks.get(row.id);
    counts.replaceTask(before, row);
    tasks.set(row.id, row);
    if (row.state === 'escalated') waitingTasks.add(row.id);
    else waitingTasks.delete(row.id);
    return before === undefined;
  };
  const putQueue = (row: QueueRow) => {
    const isNew = !queues.has(row.id);
    queues.set(row.id, row);
    return isNew;
  };
  const clear = () => {
    for (const all of [workers, tasks, queues, counts, waitingWorkers, waitingTasks]) all.clear();
  };

  return {
    workers: workers as ReadonlyMap<string, WorkerRow>,
    tasks: tasks as ReadonlyMap<string, TaskRow>,
    queues: queues as ReadonlyMap<string, QueueRow>,
    workerCounts: counts.workers,
    taskCounts: counts.tasks,
    presenceCounts: counts.presences,
    ...signals,
    ...counts.costs,
    moves,
    dirty,
    waitingWorkers: waitingWorkers as ReadonlySet<string>,
    waitingTasks: waitingTasks as ReadonlySet<string>,
    /** Copies the rows of another store, to be shown until its own are loaded. */
    adopt(other: KnownRows): void {
      clear();
      for (const row of other.workers.values()) putWorker(row);
      for (const row of other.tasks.values()) putTask(row);
      for (const row of other.queues.values()) putQueue(row);
      signals.show(true);
    },
    apply(change: Full | Delta | PastFleet, isWhole: boolean): void {
      if (isWhole) clear();
      let isNew = isWhole;
      for (const row of change.workers ?? []) isNew = putWorker(workerRows.unpack(row)) || isNew;
      for (const row of change.tasks ?? []) isNew = putTask(taskRows.unpack(row)) || isNew;
      for (const row of change.queues ?? []) isNew = putQueue(queueRows.unpack(row)) || isNew;
      const transitions = 'transitions' in change ? (change.transitions ?? []) : [];
      if ('last' in change) moves.reset(change.last, 'moves' in change ? change.moves : null);
      else moves.add(change.nowMs, transitions);
      signals.last.value = moves.last();
      if (transitions.length > 0 || 'moves' in change) signals.moved.value += 1;
      signals.show(isNew);
    },
  };
}

function createSignals() {
  const signals = {
    /** Increments with each change, to re-render components that read it. */
    version: signal(0),
    /** Increments when ids were added or everything was replaced. */
    ids: signal(0),
    loaded: signal(false),
    /** The latest move of any worker and of any task. */
    last: signal<LastMoves>({ worker: null, task: null }),
    /** Increments when moves were counted. */
    moved: signal(0),
  };
  return {
    ...signals,
    show(isNew: boolean): void {
      if (isNew) signals.ids.value += 1;
      signals.loaded.value = true;
      signals.version.value += 1;
    },
  };
}

/** Counts actors by state (in the order of `workerStates` and `viewedPresences`), and whether any has used dollars or tokens. */
function createCounts() {
  const workers = workerStates.map(() => 0);
  const tasks = workerStates.map(() => 0);
  const presenceCounts = viewedPresences.map(() => 0);
  const costs = {
    isWorkerCostKnown: signal(false),
    areWorkerTokensKnown: signal(false),
    isTaskCostKnown: signal(false),
    areTaskTokensKnown: signal(false),
  };
  const addTo =
    <Name>(counts: number[], names: readonly Name[]) =>
    (name: Name, by: 1 | -1) => {
      const index = names.indexOf(name);
      counts[index] = (counts[index] ?? 0) + by;
    };
  const addWorker = addTo(workers, workerStates);
  const addTask = addTo(tasks, workerStates);
  const addPresence = addTo(presenceCounts, viewedPresences);
  return {
    workers: workers as readonly number[],
    tasks: tasks as readonly number[],
    presences: presenceCounts as readonly number[],
    costs,
    replaceWorker(before: WorkerRow | undefined, row: WorkerRow): void {
      if (before !== undefined) {
        addWorker(before.state, -1);
        addPresence(before.presence, -1);
      }
      addWorker(row.state, 1);
      if (row.usd > 0) costs.isWorkerCostKnown.value = true;
      if (row.tokens > 0) costs.areWorkerTokensKnown.value = true;
      addPresence(row.presence, 1);
    },
    replaceTask(before: TaskRow | undefined, row: TaskRow): void {
      if (before !== undefined) addTask(before.state, -1);
      addTask(row.state, 1);
      if (row.usd > 0) costs.isTaskCostKnown.value = true;
      if (row.tokens > 0) costs.areTaskTokensKnown.value = true;
    },
    clear(): void {
      for (const counts of [workers, tasks, presenceCounts]) counts.fill(0);
      for (const isKnown of Object.values(costs)) isKnown.value = false;
    },
  };
}
