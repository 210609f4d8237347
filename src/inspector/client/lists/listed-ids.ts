/** The ids that the current list shows. Updated on each change; in a large fleet at most once a second. */
import { effect, signal } from '@preact/signals';
import type { FleetStore } from '../data/fleet-store.ts';
import { shownFleet } from '../data/past.ts';
import {
  presenceOf,
  type QueueRow,
  q,
  queueOrder,
  sinceMsOf,
  stateOf,
  type TaskRow,
  t,
  taskUrgencyOf,
  urgencyOf,
  type WorkerRow,
  w,
} from '../data/rows.ts';
import { measure } from '../measure.ts';
import { type Route, route } from '../route.ts';

/** Filters and sorts rows by the route. */
type Value = string | number | null;
type SortKeys<Row> = Readonly<Record<string, (row: Row) => Value>>;

const workerKeys: SortKeys<WorkerRow> = {
  '': urgencyOf,
  state: urgencyOf,
  why: (row) => row[w.reason],
  since: sinceMsOf,
  presence: (row) => presenceOf(row[w.presence]),
  retries: (row) => -row[w.retryCount],
  idle: (row) => row[w.idleSinceMs],
  task: (row) => row[w.task],
  agent: (row) => row[w.agent],
  decision: (row) => (row[w.lastDecisionMs] === null ? null : -(row[w.lastDecisionMs] ?? 0)),
  seen: (row) => -row[w.lastSeenMs],
};
const taskKeys: SortKeys<TaskRow> = {
  '': taskUrgencyOf,
  state: taskUrgencyOf,
  title: (row) => row[t.title],
  worker: (row) => row[t.worker],
  queue: (row) => row[t.queue],
  priority: (row) => -row[t.priority],
  iteration: (row) => row[t.iteration],
  hooks: (row) => -row[t.hooks],
};
const queueKeys: SortKeys<QueueRow> = {
  pending: (row) => -row[q.pending],
  reported: (row) => -row[q.reported],
};

/** The ids of the workers to list, in order. */
function listWorkers(fleet: FleetStore, { q: text, state, presence, agent, queue, sort }: Route): string[] {
  const search = text.toLowerCase();
  const states = new Set(state === '' ? [] : state.split(','));
  const matches = (row: WorkerRow) =>
    (states.size === 0 || states.has(stateOf(row[w.state]))) &&
    (presence === '' || presenceOf(row[w.presence]) === presence) &&
    (agent === '' || row[w.agent] === agent) &&
    (queue === '' || row[w.queue] === queue) &&
    (search === '' || [w.id, w.task, w.agent, w.reason].some((field) => includes(row[field], search)));
  return order(fleet.workers, matches, workerKeys, sort);
}

function listTasks(fleet: FleetStore, { q: text, state, queue, sort }: Route): string[] {
  const search = text.toLowerCase();
  const states = new Set(state === '' ? [] : state.split(','));
  const matches = (row: TaskRow) =>
    (states.size === 0 || states.has(stateOf(row[t.state]))) &&
    (queue === '' || row[t.queue] === queue) &&
    (search === '' || includes(row[t.id], search) || includes(row[t.title], search) || includes(row[t.worker], search));
  return order(fleet.tasks, matches, taskKeys, sort, queueOrder);
}

function listQueues(fleet: FleetStore, { q: text, sort }: Route): string[] {
  return order(fleet.queues, (row) => includes(row[q.id], text.toLowerCase()), queueKeys, sort);
}

const includes = (text: string | null, search: string): boolean => text?.toLowerCase().includes(search) ?? false;

/** Rows without a value come last in both directions; equal rows are compared by `tie`, else stay in the order of their ids. */
function order<Row extends readonly unknown[]>(
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

/** Comparing ids is slow, so they are sorted once, and again only when there are others. */
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
/** The pointer is over the list: nothing may move under it. */
export const isHeld = signal(false);
/** Rows would stand elsewhere by now. */
export const isOutdated = signal(false);

/** From this size on a list is large. */
const largeSize = 400;
const intervalMs = 1_000;
const none = () => [];
const lists = {
  ...{ workers: listWorkers, tasks: listTasks, queues: listQueues },
  ...{ inbox: none, history: none, 'what-if': none },
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
    isOutdated.value = !isSame && !mayMove;
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
