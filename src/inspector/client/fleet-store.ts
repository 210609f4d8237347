/** The fleet as the page knows it: rows by name, and counts that always come of all of them. */
import { signal } from '@preact/signals';
import { presences, workerStates } from '../../../machines/values/states.ts';
import type { Delta, Full, Move, PastFleet } from '../messages.ts';
import { type QueueRow, q, type TaskRow, t, type WorkerRow, w } from './rows.ts';

export type FleetStore = ReturnType<typeof createFleetStore>;

export function createFleetStore() {
  const workers = new Map<string, WorkerRow>();
  const tasks = new Map<string, TaskRow>();
  const queues = new Map<string, QueueRow>();
  const workerCounts = workerStates.map(() => 0);
  const taskCounts = workerStates.map(() => 0);
  const presenceCounts = presences.map(() => 0);
  /** Workers whose cells are not drawn yet. */
  const dirty = new Set<string>();
  /** Grows with each change; whoever reads it is rendered again. */
  const version = signal(0);
  /** Grows when a name is new or everything is. */
  const names = signal(0);
  const loaded = signal(false);
  /** The newest step of a machine. */
  const moved = signal<Move | null>(null);

  const add = (counts: number[], index: number, by: 1 | -1) => {
    counts[index] = (counts[index] ?? 0) + by;
  };
  const putWorker = (row: WorkerRow) => {
    const before = workers.get(row[w.name]);
    if (before !== undefined) {
      add(workerCounts, before[w.state], -1);
      add(presenceCounts, before[w.presence], -1);
    }
    add(workerCounts, row[w.state], 1);
    add(presenceCounts, row[w.presence], 1);
    workers.set(row[w.name], row);
    dirty.add(row[w.name]);
    return before === undefined;
  };
  const putTask = (row: TaskRow) => {
    const before = tasks.get(row[t.name]);
    if (before !== undefined) add(taskCounts, before[t.state], -1);
    add(taskCounts, row[t.state], 1);
    tasks.set(row[t.name], row);
    return before === undefined;
  };
  const clear = () => {
    for (const map of [workers, tasks, queues]) map.clear();
    for (const counts of [workerCounts, taskCounts, presenceCounts]) counts.fill(0);
  };

  return {
    workers: workers as ReadonlyMap<string, WorkerRow>,
    tasks: tasks as ReadonlyMap<string, TaskRow>,
    queues: queues as ReadonlyMap<string, QueueRow>,
    workerCounts: workerCounts as readonly number[],
    taskCounts: taskCounts as readonly number[],
    presenceCounts: presenceCounts as readonly number[],
    ...{ dirty, version, names, loaded, moved },
    apply(change: Full | Delta | PastFleet, isWhole: boolean): void {
      if (isWhole) clear();
      let isNew = isWhole;
      for (const row of change.workers ?? []) isNew = putWorker(row) || isNew;
      for (const row of change.tasks ?? []) isNew = putTask(row) || isNew;
      for (const row of change.queues ?? []) {
        isNew ||= !queues.has(row[q.name]);
        queues.set(row[q.name], row);
      }
      const moves = 'moves' in change ? change.moves : undefined;
      const last = moves?.at(-1);
      if (last !== undefined) moved.value = last;
      if (isNew) names.value += 1;
      loaded.value = true;
      version.value += 1;
    },
  };
}
