/** The ids in the current list, filtered and sorted by the route. In a large fleet updated at most once a second. */
import { computed, effect, signal } from '@preact/signals';
import type { FleetStore } from '../data/fleet-store.ts';
import { shownFleet, shownMs } from '../data/past.ts';
import {
  attendantsOf,
  figuresOf,
  noFigures,
  type QueueFigures,
  queueOrder,
  type TaskRow,
  type WorkerRow,
} from '../data/rows.ts';
import { measure } from '../measure.ts';
import { type Route, route } from '../route.ts';
import { order, queueKeys, taskKeys, workerKeys } from './order.ts';

const figures = computed(() => {
  void shownFleet.value.version.value;
  return figuresOf(shownFleet.value.tasks.values(), shownMs.value);
});

/** Current figures of a queue. Computed for all queues at once. */
export const figuresOfQueue = (queue: string): QueueFigures => figures.value.get(queue) ?? noFigures;

const attendants = computed(() => {
  void shownFleet.value.version.value;
  return attendantsOf(shownFleet.value.workers.values());
});

/** The workers that attend a queue. */
export const attendantsOfQueue = (queue: string): readonly string[] => attendants.value.get(queue) ?? [];

/** The ids of the workers to list, sorted. */
function listWorkers(fleet: FleetStore, { q: text, state, presence, agent, queue, sort }: Route): string[] {
  const search = text.toLowerCase();
  const states = new Set(state === '' ? [] : state.split(','));
  const matches = (row: WorkerRow) =>
    (states.size === 0 || states.has(row.state)) &&
    (presence === '' || row.presence === presence) &&
    (agent === '' || row.agent === agent) &&
    (queue === '' || row.queue === queue) &&
    (search === '' ||
      [row.id, row.title, row.task, row.agent, row.policy, row.sentence].some((text) => includes(text, search)));
  return order(fleet.workers, matches, workerKeys, sort);
}

function listTasks(fleet: FleetStore, { q: text, state, queue, sort }: Route): string[] {
  const search = text.toLowerCase();
  const states = new Set(state === '' ? [] : state.split(','));
  const matches = (row: TaskRow) =>
    (states.size === 0 || states.has(row.state)) &&
    (queue === '' || row.queue === queue) &&
    (search === '' || includes(row.id, search) || includes(row.title, search) || includes(row.worker, search));
  return order(fleet.tasks, matches, taskKeys, sort, queueOrder);
}

function listQueues(fleet: FleetStore, { q: text, sort }: Route): string[] {
  return order(fleet.queues, (row) => includes(row.id, text.toLowerCase()), queueKeys(figuresOfQueue), sort);
}

const includes = (text: string | null, search: string): boolean => text?.toLowerCase().includes(search) ?? false;

export const listedIds = signal<readonly string[]>([]);
/** With fewer workers, the list itself is the overview, and there are no cells. */
export const cellsMin = 200;
/** Whether the mouse is over the list, so that nothing may move. */
export const isHeld = signal(false);
/** Set while a held list is outdated: the number of new rows that it does not show yet. Null if it is up to date. */
export const newWhileHeld = signal<number | null>(null);

function addedTo(shown: readonly string[], next: readonly string[]): number {
  const known = new Set(shown);
  return next.filter((id) => !known.has(id)).length;
}

/** Lists of at least this size are sorted at most once a second. */
const largeSize = 400;
const intervalMs = 1_000;
const none = () => [];
const lists = {
  workers: listWorkers,
  tasks: listTasks,
  queues: listQueues,
  inbox: none,
  entries: none,
  history: none,
  'what-if': none,
  service: none,
};

export function startListing(): void {
  let updatedMs = 0;
  let scheduled: ReturnType<typeof setTimeout> | undefined;
  let lastRoute: unknown = null;
  let lastSize = 0;
  const update = () => {
    clearTimeout(scheduled);
    scheduled = undefined;
    updatedMs = performance.now();
    const next = measure('list', () => lists[route.peek().view](shownFleet.peek(), route.peek()));
    const old = listedIds.peek();
    const isSame = next.length === old.length && next.every((id, index) => id === old[index]);
    const mayMove = !isHeld.peek() || route.peek() !== lastRoute || old.length === 0;
    newWhileHeld.value = isSame || mayMove ? null : addedTo(old, next);
    if (!isSame && mayMove) listedIds.value = next;
  };
  effect(() => {
    const current = route.value;
    void isHeld.value;
    const fleet = shownFleet.value;
    void fleet.version.value;
    const size = current.view === 'tasks' ? fleet.tasks.size : fleet.workers.size;
    const waitMs = updatedMs + intervalMs - performance.now();
    if (current !== lastRoute || lastSize === 0 || size < largeSize || waitMs <= 0) update();
    else scheduled ??= setTimeout(update, waitMs);
    lastRoute = current;
    lastSize = size;
  });
}
