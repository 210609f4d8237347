/** Filters and sorts rows by the route. */
import type { FleetStore } from '../data/fleet-store.ts';
import { type QueueRow, q, type TaskRow, t, type WorkerRow, w } from '../data/row-fields.ts';
import type { Route } from '../route.ts';
import { presenceOf, stateOf } from '../ui/states.ts';
import { sinceMsOf, taskUrgencyOf, urgencyOf } from './urgency.ts';

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
  iteration: (row) => row[t.iteration],
  hooks: (row) => -row[t.hooks],
};
const queueKeys: SortKeys<QueueRow> = {
  pending: (row) => -row[q.pending],
  reported: (row) => -row[q.reported],
};

/** The ids of the workers to list, in order. */
export function listWorkers(fleet: FleetStore, { q: text, state, presence, agent, queue, sort }: Route): string[] {
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

export function listTasks(fleet: FleetStore, { q: text, state, queue, sort }: Route): string[] {
  const search = text.toLowerCase();
  const states = new Set(state === '' ? [] : state.split(','));
  const matches = (row: TaskRow) =>
    (states.size === 0 || states.has(stateOf(row[t.state]))) &&
    (queue === '' || row[t.queue] === queue) &&
    (search === '' || includes(row[t.id], search) || includes(row[t.title], search) || includes(row[t.worker], search));
  return order(fleet.tasks, matches, taskKeys, sort);
}

export function listQueues(fleet: FleetStore, { q: text, sort }: Route): string[] {
  return order(fleet.queues, (row) => includes(row[q.id], text.toLowerCase()), queueKeys, sort);
}

const includes = (text: string | null, search: string): boolean => text?.toLowerCase().includes(search) ?? false;

/** Rows without a value come last in both directions; equal rows stay in the order of their ids. */
function order<Row extends readonly unknown[]>(
  rows: ReadonlyMap<string, Row>,
  matches: (row: Row) => boolean,
  keys: SortKeys<Row>,
  sort: string,
): string[] {
  const key = keys[sort.replace(/^-/, '')];
  const sign = sort.startsWith('-') ? -1 : 1;
  const found: { readonly id: string; readonly value: Value }[] = [];
  for (const id of sortedIds(rows)) {
    const row = rows.get(id);
    if (row !== undefined && matches(row)) found.push({ id, value: key?.(row) ?? null });
  }
  if (key !== undefined)
    found.sort((a, b) => {
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
