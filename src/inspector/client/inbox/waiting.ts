/** Who waits for a person: the items of the inbox, those that wait longest first. */
import { computed } from '@preact/signals';
import { liveFleet } from '../data/connection.ts';
import { t, w } from '../data/row-fields.ts';
import { urgencyOf } from '../lists/urgency.ts';

export type Waiting = { readonly entity: 'worker' | 'task'; readonly id: string };

const keyOf = ({ entity, id }: Waiting): string => `${entity}/${id}`;
const fromKey = (key: string): Waiting => {
  const [entity = '', ...id] = key.split('/');
  return { entity: entity as Waiting['entity'], id: id.join('/') };
};

/** As one text, so that what reads it is rendered only when it differs. */
const waitingKeys = computed(() => {
  void liveFleet.version.value;
  const { waitingWorkers, waitingTasks } = liveFleet;
  const workers = rowsOf(liveFleet.workers, waitingWorkers).sort((a, b) => urgencyOf(a) - urgencyOf(b));
  const causes = new Set(workers.map((row) => `${row[w.stateSinceMs]} ${row[w.reason]}`));
  // A task that is escalated with its worker, by the same entry, is one thing to look at.
  const tasks = rowsOf(liveFleet.tasks, waitingTasks)
    .filter((row) => !causes.has(`${row[t.stateSinceMs]} ${row[t.reason]}`))
    .sort((a, b) => (a[t.stateSinceMs] ?? 0) - (b[t.stateSinceMs] ?? 0));
  return [
    ...workers.map((row) => keyOf({ entity: 'worker', id: row[w.id] })),
    ...tasks.map((row) => keyOf({ entity: 'task', id: row[t.id] })),
  ].join('\n');
});

function rowsOf<Row>(rows: ReadonlyMap<string, Row>, ids: ReadonlySet<string>): Row[] {
  return [...ids].map((id) => rows.get(id)).filter((row) => row !== undefined);
}

export const waiting = computed((): readonly Waiting[] =>
  waitingKeys.value === '' ? [] : waitingKeys.value.split('\n').map(fromKey),
);
export const inboxSize = computed(() => waiting.value.length);
export { keyOf as waitingKey };
