/** Which actors are shown, and in which order: by the address. */
import type { FleetStore } from './fleet-store.ts';
import { presenceOf, stateOf } from './marks.tsx';
import type { Place } from './place.ts';
import { type QueueRow, q, type TaskRow, t, type WorkerRow, w } from './rows.ts';

type Value = string | number | null;
type Keys<Row> = Readonly<Record<string, (row: Row) => Value>>;

/** Smaller is more in need of a person. */
const urgency = [3, 2, 1, 0, -1, 4];

const workerKeys: Keys<WorkerRow> = {
  state: (row) => urgency[row[w.state]] ?? 0,
  presence: (row) => presenceOf(row[w.presence]),
  retries: (row) => -row[w.retryCount],
  idle: (row) => row[w.idleSinceMs],
  task: (row) => row[w.task],
  agent: (row) => row[w.agent],
  decision: (row) => (row[w.lastDecisionMs] === null ? null : -(row[w.lastDecisionMs] ?? 0)),
  seen: (row) => -row[w.lastSeenMs],
};
const taskKeys: Keys<TaskRow> = {
  state: (row) => urgency[row[t.state]] ?? 0,
  title: (row) => row[t.title],
  worker: (row) => row[t.worker],
  queue: (row) => row[t.queue],
  iteration: (row) => row[t.iteration],
  hooks: (row) => -row[t.hooks],
};
const queueKeys: Keys<QueueRow> = {
  pending: (row) => -row[q.pending],
  reported: (row) => -row[q.reported],
};

export function chooseWorkers(store: FleetStore, { q: words, state, presence, agent, queue, sort }: Place): string[] {
  const wanted = words.toLowerCase();
  const states = new Set(state === '' ? [] : state.split(','));
  const fits = (row: WorkerRow) =>
    (states.size === 0 || states.has(stateOf(row[w.state]))) &&
    (presence === '' || presenceOf(row[w.presence]) === presence) &&
    (agent === '' || row[w.agent] === agent) &&
    (queue === '' || row[w.queue] === queue) &&
    (wanted === '' || has(row[w.name], wanted) || has(row[w.task], wanted) || has(row[w.agent], wanted));
  return order(store.workers, fits, workerKeys, sort);
}

export function chooseTasks(store: FleetStore, { q: words, state, queue, sort }: Place): string[] {
  const wanted = words.toLowerCase();
  const states = new Set(state === '' ? [] : state.split(','));
  const fits = (row: TaskRow) =>
    (states.size === 0 || states.has(stateOf(row[t.state]))) &&
    (queue === '' || row[t.queue] === queue) &&
    (wanted === '' || has(row[t.name], wanted) || has(row[t.title], wanted) || has(row[t.worker], wanted));
  return order(store.tasks, fits, taskKeys, sort);
}

export function chooseQueues(store: FleetStore, { q: words, sort }: Place): string[] {
  return order(store.queues, (row) => has(row[q.name], words.toLowerCase()), queueKeys, sort);
}

const has = (text: string | null, wanted: string): boolean => text?.toLowerCase().includes(wanted) ?? false;

/** What has no value comes last in both directions; equals stay in the order of their names. */
function order<Row extends readonly unknown[]>(
  all: ReadonlyMap<string, Row>,
  fits: (row: Row) => boolean,
  keys: Keys<Row>,
  sort: string,
): string[] {
  const key = keys[sort.replace(/^-/, '')];
  const sign = sort.startsWith('-') ? -1 : 1;
  const found: { readonly name: string; readonly value: Value }[] = [];
  for (const name of inOrderOfNames(all)) {
    const row = all.get(name);
    if (row !== undefined && fits(row)) found.push({ name, value: key?.(row) ?? null });
  }
  if (key !== undefined)
    found.sort((a, b) => {
      if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null);
      return sign * compare(a.value, b.value);
    });
  const names = found.map(({ name }) => name);
  return key === undefined && sign < 0 ? names.reverse() : names;
}

const ordered = new WeakMap<object, { readonly names: readonly string[]; readonly first: string | undefined }>();

/** To compare names is slow, so they are put in order once, and again when there are others. */
function inOrderOfNames(all: ReadonlyMap<string, unknown>): readonly string[] {
  const known = ordered.get(all);
  const first = all.keys().next().value;
  if (known !== undefined && known.names.length === all.size && known.first === first) return known.names;
  const names = [...all.keys()].sort(collator.compare);
  ordered.set(all, { names, first });
  return names;
}

const collator = new Intl.Collator('en', { numeric: true });

const compare = (a: string | number, b: string | number): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));
