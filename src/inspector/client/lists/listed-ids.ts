/** The ids that the current list shows. Updated on each change; in a large fleet at most once a second. */
import { effect, signal } from '@preact/signals';
import { shownFleet } from '../data/past.ts';
import { measure } from '../measure.ts';
import { route } from '../route.ts';
import { listQueues, listTasks, listWorkers } from './filter-and-sort.ts';

export const listedIds = signal<readonly string[]>([]);

/** From this size on a list is large. */
const largeSize = 400;
const intervalMs = 1_000;
const lists = { workers: listWorkers, tasks: listTasks, queues: listQueues, 'what-if': () => [] };

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
    if (next.length !== old.length || next.some((id, index) => id !== old[index])) listedIds.value = next;
  };
  effect(() => {
    const current = route.value;
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
