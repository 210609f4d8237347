/** The order of the lists, and how a heading announces it. Pure. */
import {
  costOrder,
  isUnattended,
  type QueueFigures,
  type QueueRow,
  type TaskRow,
  taskUrgencyOf,
  tokensOrder,
  urgencyOf,
  type WorkerRow,
} from '../data/rows.ts';

type Value = string | number | null;
type SortKeys<Row> = Readonly<Record<string, (row: Row) => Value>>;

export const workerKeys: SortKeys<WorkerRow> = {
  '': urgencyOf,
  state: urgencyOf,
  title: (row) => row.title,
  why: (row) => row.sentence,
  since: (row) => row.sinceMs,
  presence: (row) => row.presence,
  retries: (row) => -row.retryCount,
  idle: (row) => row.idleSinceMs,
  task: (row) => row.task,
  agent: (row) => row.agent,
  decision: (row) => (row.lastDecisionMs === null ? null : -(row.lastDecisionMs ?? 0)),
  seen: (row) => -row.lastSeenMs,
  cost: costOrder,
  tokens: tokensOrder,
};
export const taskKeys: SortKeys<TaskRow> = {
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
  tokens: tokensOrder,
};
export const queueKeys = (figuresOfQueue: (queue: string) => QueueFigures): SortKeys<QueueRow> => ({
  // Unattended queues come first, the longest wait first.
  '': (row) => (isUnattended(row) ? (figuresOfQueue(row.id).oldestMs ?? 0) : null),
  pending: (row) => -row.pending,
  oldest: (row) => figuresOfQueue(row.id).oldestMs,
  done: (row) => -figuresOfQueue(row.id).done,
  attended: (row) => -row.workers,
  reported: (row) => -row.reported,
});

/**
 * The columns whose first click shows the largest value first. An age counts as its length, so the earliest time is the
 * largest age. A state is ordered by urgency, which is neither.
 */
const largestFirst: ReadonlySet<string> = new Set([
  'since',
  'retries',
  'idle',
  'cost',
  'tokens',
  'priority',
  'hooks',
  'pending',
  'oldest',
  'done',
  'attended',
  'reported',
]);

/** The order of the values in a column, as `aria-sort` names it. */
export type Direction = 'ascending' | 'descending' | 'other' | 'none';

/** @param sort the route's: a column's key, with a minus after the second click */
export function directionOf(key: string, sort: string): Direction {
  if (sort !== key && sort !== `-${key}`) return 'none';
  if (key === 'state') return 'other';
  return largestFirst.has(key) === (sort === key) ? 'descending' : 'ascending';
}

/** Rows without a value come last in both directions. Equal rows are ordered by `tie`, then by id. */
export function order<Row>(
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
