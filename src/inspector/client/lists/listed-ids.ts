/** The ids that the current list shows. Updated on each change; in a large fleet at most once a second. */
import { effect, signal } from '@preact/signals';
import { shownFleet } from '../data/past.ts';
import { measure } from '../measure.ts';
import { route } from '../route.ts';
import { listQueues, listTasks, listWorkers } from './filter-and-sort.ts';

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
