/** The live items of the inbox, which of them are snoozed in this browser, and which are marked for a bulk action. */
import { computed, signal } from '@preact/signals';
import { liveFleet, serviceMs, tick } from '../data/connection.ts';
import { route } from '../route.ts';
import { withoutName } from '../ui/format.ts';
import { describeGone, findWaiting, type Waiting } from './find-waiting.ts';
import { answeredKeys } from './unsent.ts';

/** `sinceMs` is when the item began to wait. If it later waits for something else, it is shown again. */
type Snoozed = { readonly untilMs: number; readonly sinceMs: number };

const storageKey = 'stopgate.snoozed';
/** Maximum number of snoozed items. Beyond it, the oldest are shown again. */
const snoozedMax = 500;

const read = (): ReadonlyMap<string, Snoozed> => {
  try {
    return new Map(JSON.parse(localStorage.getItem(storageKey) ?? '[]'));
  } catch {
    return new Map();
  }
};
const snoozed = signal(read());

const write = (next: ReadonlyMap<string, Snoozed>): void => {
  snoozed.value = new Map([...next].slice(-snoozedMax));
  localStorage.setItem(storageKey, JSON.stringify([...snoozed.value]));
};

export const snoozeLengths = { hour: 'for an hour', tomorrow: 'until tomorrow, 9:00' } as const;
export type SnoozeLength = keyof typeof snoozeLengths;

/** Hides an item in this browser only. */
export function snooze(item: Waiting, length: SnoozeLength): void {
  const until = new Date();
  if (length === 'hour') until.setHours(until.getHours() + 1);
  else {
    until.setDate(until.getDate() + 1);
    until.setHours(9, 0, 0, 0);
  }
  const key = waitingKey(item);
  const sinceMs = findWaiting(liveFleet, serviceMs()).find((item) => waitingKey(item) === key)?.sinceMs;
  if (sinceMs !== undefined) write(new Map([...snoozed.peek(), [key, { untilMs: until.getTime(), sinceMs }]]));
}

export const wake = (): void => write(new Map());

function isSnoozed(key: string, sinceMs: number): boolean {
  const found = snoozed.value.get(key);
  return found !== undefined && found.sinceMs === sinceMs && found.untilMs > Date.now();
}

export type { Waiting };

export const waitingKey = ({ entity, id }: Waiting): string => `${entity}/${id}`;
export const itemOf = (key: string): Waiting => {
  const [entity = '', ...id] = key.split('/');
  return { entity: entity as Waiting['entity'], id: id.join('/') };
};

/** The waiting items without answered ones, split into shown and snoozed. */
const split = computed(() => {
  void liveFleet.version.value;
  // Snoozed items come back, and deadlines pass.
  void tick.value;
  const open = findWaiting(liveFleet, serviceMs()).map((item) => ({ key: waitingKey(item), sinceMs: item.sinceMs }));
  const left = open.filter(({ key }) => !answeredKeys.value.has(key));
  const shown = left.filter(({ key, sinceMs }) => !isSnoozed(key, sinceMs)).map(({ key }) => key);
  const hidden = left.filter(({ key, sinceMs }) => isSnoozed(key, sinceMs)).map(({ key }) => key);
  return { keys: shown.join('\n'), snoozed: hidden.join('\n') };
});
/** One string, so that components re-render only when it differs. */
const waitingKeys = computed(() => split.value.keys);
const snoozedKeys = computed(() => split.value.snoozed);
const snoozedItems = computed(() => new Set(snoozedKeys.value === '' ? [] : snoozedKeys.value.split('\n')));
export const snoozedCount = computed(() => snoozedItems.value.size);

/** Why an item of the list that is gone does not wait in it. */
export const goneNote = (key: string): string =>
  describeGone({ isAnswered: answeredKeys.value.has(key), isSnoozed: snoozedItems.value.has(key) });

export const waiting = computed((): readonly Waiting[] =>
  waitingKeys.value === '' ? [] : waitingKeys.value.split('\n').map(itemOf),
);

/** Queues with tasks that no live worker could take, the longest first. */
const unattendedQueues = computed(() => {
  void liveFleet.version.value;
  return [...liveFleet.queues.values()]
    .filter(({ unattendedMs }) => unattendedMs !== null)
    .sort((a, b) => (a.unattendedMs ?? 0) - (b.unattendedMs ?? 0));
});
/** The one count of the inbox: in the header, in the tab's title and above the list. */
export const inboxCount = computed(() => waiting.value.length + unattendedQueues.value.length);

const foundKeys = computed(() => {
  void liveFleet.version.value;
  const search = route.value.q.trim().toLowerCase();
  return waiting.value
    .filter((item) => search === '' || textsOf(item).some((text) => text?.toLowerCase().includes(search)))
    .map(waitingKey)
    .join('\n');
});
/** The waiting items that match the search. */
export const found = computed(() => (foundKeys.value === '' ? [] : foundKeys.value.split('\n').map(itemOf)));
export const foundQueues = computed(() => {
  const search = route.value.q.trim().toLowerCase();
  return unattendedQueues.value.filter(({ id }) => id.toLowerCase().includes(search));
});

/** What the search looks at. */
function textsOf({ entity, id }: Waiting): readonly (string | null | undefined)[] {
  const task = entity === 'task' ? liveFleet.tasks.get(id) : undefined;
  const worker = entity === 'worker' ? liveFleet.workers.get(id) : undefined;
  return [
    id,
    task?.title,
    task?.sentence,
    task?.queue,
    task?.escalatedWith,
    worker?.sentence,
    worker?.task,
    worker?.agent,
  ];
}

/** Keys of the marked items. */
export const marked = signal<ReadonlySet<string>>(new Set());

/** The marked items that match the search: an action never reaches an item that the list does not show. */
export const chosenItems = (): readonly Waiting[] => found.value.filter((item) => marked.value.has(waitingKey(item)));

/** The question as shown on the card, which cuts it. */
export function questionOf({ entity, id }: Waiting): string {
  void liveFleet.version.value;
  const row = entity === 'worker' ? liveFleet.workers.get(id) : liveFleet.tasks.get(id);
  return withoutName(row?.sentence ?? '', id);
}

/** Equal for items of one kind with equal questions and equal failures. Null if it no longer waits. */
export function matterOf({ entity, id }: Waiting): string | null {
  void liveFleet.version.value;
  const row = entity === 'worker' ? liveFleet.workers.get(id) : liveFleet.tasks.get(id);
  return row?.matter == null ? null : `${entity} ${row.matter}`;
}

/** Returns this item (even if snoozed), followed by others that need the same answer, in the inbox's order. */
export function alikeOf(item: Waiting): readonly Waiting[] {
  const [key, matter] = [waitingKey(item), matterOf(item)];
  if (matter === null) return [item];
  return [item, ...waiting.value.filter((other) => waitingKey(other) !== key && matterOf(other) === matter)];
}

export const mark = (items: readonly Waiting[]): void => {
  marked.value = new Set(items.map(waitingKey));
};

export function toggleMark(key: string): void {
  const next = new Set(marked.peek());
  if (!next.delete(key)) next.add(key);
  marked.value = next;
}
