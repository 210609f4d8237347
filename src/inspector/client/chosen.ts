/** The names that the lists show, made anew when something changed; of a large fleet once a second, since order is no hurry. */
import { effect, signal } from '@preact/signals';
import { chooseQueues, chooseTasks, chooseWorkers } from './choose.ts';
import { measure } from './measure.ts';
import { shown } from './past.ts';
import { place } from './place.ts';

export const chosen = signal<readonly string[]>([]);

const manyRows = 400;
const everyMs = 1_000;

export function startChoosing(): void {
  let lastMs = 0;
  let later: ReturnType<typeof setTimeout> | undefined;
  let lastPlace: unknown = null;
  let lastSize = 0;
  effect(() => {
    const where = place.value;
    const store = shown.value;
    void store.version.value;
    const choose = () => {
      clearTimeout(later);
      later = undefined;
      lastMs = performance.now();
      const choices = { workers: chooseWorkers, tasks: chooseTasks, queues: chooseQueues, 'what-if': () => [] };
      const next = measure('choose', () => choices[place.peek().view](shown.peek(), place.peek()));
      const now = chosen.peek();
      if (next.length !== now.length || next.some((name, index) => name !== now[index])) chosen.value = next;
    };
    const size = where.view === 'tasks' ? store.tasks.size : store.workers.size;
    const waitMs = lastMs + everyMs - performance.now();
    if (where !== lastPlace || lastSize === 0 || size < manyRows || waitMs <= 0) choose();
    else later ??= setTimeout(choose, waitMs);
    lastPlace = where;
    lastSize = size;
  });
}
