/** Who waits for a person, live, and which of them are marked to act on many at once. */
import { computed, signal } from '@preact/signals';
import { liveFleet } from '../data/connection.ts';
import { findWaiting, type Waiting } from './find-waiting.ts';

export type { Waiting };

export const waitingKey = ({ entity, id }: Waiting): string => `${entity}/${id}`;
export const itemOf = (key: string): Waiting => {
  const [entity = '', ...id] = key.split('/');
  return { entity: entity as Waiting['entity'], id: id.join('/') };
};

/** As one text, so that what reads it is rendered only when it differs. */
const waitingKeys = computed(() => {
  void liveFleet.version.value;
  return findWaiting(liveFleet).map(waitingKey).join('\n');
});

export const waiting = computed((): readonly Waiting[] =>
  waitingKeys.value === '' ? [] : waitingKeys.value.split('\n').map(itemOf),
);
export const inboxSize = computed(() => waiting.value.length);

/** The keys of those that are marked. */
export const marked = signal<ReadonlySet<string>>(new Set());

export const chosenItems = (): readonly Waiting[] => waiting.value.filter((it) => marked.value.has(waitingKey(it)));

export function toggleMark(key: string): void {
  const next = new Set(marked.peek());
  if (!next.delete(key)) next.add(key);
  marked.value = next;
}
