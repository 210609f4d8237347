/** The ids in the current list, filtered and sorted by the route. In a large fleet updated at most once a second. */
import { computed, effect, signal } from '@preact/signals';
import type { FleetStore } from '../data/fleet-store.ts';
import { shownFleet, shownMs } from '../data/past.ts';
import {
  costOrder,
  figuresOf,
  noFigures,
  type QueueFigures,
  type QueueRow,
  queueOrder,
  sinceMsOf,
  type TaskRow,
  taskUrgencyOf,
  urgencyOf,
  type WorkerRow,
} from '../data/rows.ts';
import { measure } from '../measure.ts';
import { type Route, route } from '../route.ts';

const figures = computed(() => {
  void shownFleet.value.version.value;
  return figuresOf(shownFleet.value.tasks.values(), shownMs.value);
});

/** Current figures of a queue. Computed for all queues at once. */
export const figuresOfQueue = (queue: string): QueueFigures => figures.value.get(queue) ?? noFigures;

type Value = string | number | null;
type SortKeys<Row> = Readonly<Record<string, (row: Row) => Value>>;

const workerKeys: SortKeys<WorkerRow> = {
  '': urgencyOf,
  state: urgencyOf,
  why: (row) => row.sentence,
  since: sinceMsOf,
  presence: (row) => row.presence,
  retries: (row) => -row.retryCount,
  idle: (row) => row.idleSinceMs,
  task: (row) => row.task,
  agent: (row) => row.agent,
  decision: (row) => (row.lastDecisionMs === null ? null : -(row.lastDecisionMs ?? 0)),
  seen: (row) => -row.lastSeenMs,
  cost: costOrder,
};
const taskKeys: SortKeys<TaskRow> = {
  '': taskUrgencyOf,
  state: taskUrgencyOf,
  since: (row) => row.sinceMs,
  title: (row) => row.title,
  reason: (row) => row.sentence,
  worker: (row) => row.worker,
  queue: (row) => row.queue,
  priority: (row) => -row.priority,
  iteration: (row) => row.iteration,
  hooks: (row) => -row.hooks,
  cost: costOrder,
};
const queueKeys: SortKeys<QueueRow> = {
  pending: (row) => -row.pending,
  oldest: (row) => figuresOfQueue(row.id).oldestMs,
  done: (row) => -figuresOfQueue(row.id).done,
  workers: (row) => -row.workers,
  reported: (row) => -row.reported,
};

/** The ids of the workers to list, sorted. */
function listWorkers(fleet: FleetStore, { q: text, state, presence, agent, queue, sort }: Route): string[] {
  const search = text.toLowerCase();
  const states = new Set(state === '' ? [] : state.split(','));
  const matches = (row: WorkerRow) =>
    (states.size === 0 || states.has(row.state)) &&
    (presence === '' || row.presence === presence) &&
    (agent === '' || row.agent === agent) &&
    (queue === '' || row.queue === queue) &&
    (search === '' || [row.id, row.task, row.agent, row.sentence].some((text) => includes(text, search)));
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
  return order(fleet.queues, (row) => includes(row.id, text.toLowerCase()), queueKeys, sort);
}

const includes = (text: string | null, search: string): boolean => text?.toLowerCase().includes(search) ?? false;

/** Rows without a value come last in both directions. Equal rows are ordered by `tie`, then by id. */
function order<Row>(
  rows: ReadonlyMap<string, Row>,
  matches: (row: Row) => boolean,
  keys: SortKeys<Row>,
  sort: string,
  tie: (a: Row, b: Row) => number = () => 0,
): string[] {
  const key = keys[sort.replace(/^-/, '')];
  const sign = sort.startsWith('-') ? -1 : 1;
  const found: { readonly id: string; readonly row: Row; readonly value: Value }[] = [];
  for (const id of sortedIds(rows)) {
    const row = rows.get(id);
    if (row !== undefined && matches(row)) found.push({ id, row, value: key?.(row) ?? null });
  }
  if (key !== undefined)
    found.sort((a, b) => {
      if (a.value === b.value) return tie(a.row, b.row);
      if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null);
      return sign * compare(a.value, b.value);
    });
  const ids = found.map(({ id }) => id);
  return key === undefined && sign < 0 ? ids.reverse() : ids;
}

const cache = new WeakMap<object, { readonly ids: readonly string[]; readonly first: string | undefined }>();

/** Caches sorted ids until the set of ids changes, because comparing them is slow. */
function sortedIds(rows: ReadonlyMap<string, unknown>): readonly string[] {
  const cached = cache.get(rows);
  const first = rows.keys().next().value;
  if (cached !== undefined && cached.ids.length === rows.size && cached.first === first) return cached.ids;
  const ids = [...rows.keys()].sort(collator.compare);
  cache.set(rows, { ids, first });
  return ids;
}

const collator = new Intl.Collator('en', { numeric: true });

const compare = (a: string | number, b: string | number): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));

export const listedIds = signal<readonly string[]>([]);
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
