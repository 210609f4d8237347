/** Who waits for a person, live. */
import { computed } from '@preact/signals';
import { liveFleet } from '../data/connection.ts';
import { findWaiting, type Waiting } from './find-waiting.ts';

export type { Waiting };

const keyOf = ({ entity, id }: Waiting): string => `${entity}/${id}`;
export const itemOf = (key: string): Waiting => {
  const [entity = '', ...id] = key.split('/');
  return { entity: entity as Waiting['entity'], id: id.join('/') };
};

/** As one text, so that what reads it is rendered only when it differs. */
const waitingKeys = computed(() => {
  void liveFleet.version.value;
  return findWaiting(liveFleet).map(keyOf).join('\n');
});

export const waiting = computed((): readonly Waiting[] =>
  waitingKeys.value === '' ? [] : waitingKeys.value.split('\n').map(itemOf),
);
export const inboxSize = computed(() => waiting.value.length);
export { keyOf as waitingKey };
