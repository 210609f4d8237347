/** Where the reader is: all of it in the address, so that a page can be shared, reloaded and gone back to. */
import { computed, signal } from '@preact/signals';

export const views = ['workers', 'tasks', 'queues', 'what-if'] as const;
export type View = (typeof views)[number];
export type Place = {
  readonly view: View;
  readonly q: string;
  readonly state: string;
  readonly presence: string;
  readonly agent: string;
  readonly queue: string;
  /** A column; with a minus the other way round. */
  readonly sort: string;
  readonly worker: string | null;
  readonly task: string | null;
  /** The entry at which the past is looked at; null: live. */
  readonly at: number | null;
};

const texts = ['q', 'state', 'presence', 'agent', 'queue', 'sort'] as const;

export const place = signal<Place>(read());
addEventListener('popstate', () => {
  place.value = read();
});

export const selected = computed(() => {
  const { worker, task } = place.value;
  if (worker !== null) return { entity: 'worker', id: worker } as const;
  return task === null ? null : ({ entity: 'task', id: task } as const);
});

/** `quietly`: without a step to go back to, as for each letter that is typed. */
export function go(change: Partial<Place>, how: 'step' | 'quietly' = 'step'): void {
  place.value = { ...place.value, ...change };
  const address = hrefOf({});
  if (how === 'quietly') history.replaceState(null, '', address);
  else if (address !== location.pathname + location.search) history.pushState(null, '', address);
}

/** The address of here, but for what changes. */
export function hrefOf(change: Partial<Place>): string {
  const { view, worker, task, at, ...rest } = { ...place.value, ...change };
  const query = new URLSearchParams();
  if (view !== 'workers') query.set('view', view);
  for (const name of texts) if (rest[name] !== '') query.set(name, rest[name]);
  if (worker !== null) query.set('worker', worker);
  if (task !== null) query.set('task', task);
  if (at !== null) query.set('at', String(at));
  const text = query.toString().replaceAll('%2C', ',');
  return text === '' ? '/' : `/?${text}`;
}

/** Follows a link here, and leaves to the browser what is meant for another tab. */
export function follow(event: MouseEvent, change: Partial<Place>): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return;
  event.preventDefault();
  go(change);
}

function read(): Place {
  const query = new URLSearchParams(location.search);
  const text = (name: string) => query.get(name) ?? '';
  const at = text('at');
  return {
    view: views.find((it) => it === text('view')) ?? 'workers',
    q: text('q'),
    state: text('state'),
    presence: text('presence'),
    agent: text('agent'),
    queue: text('queue'),
    sort: text('sort'),
    worker: text('worker') || null,
    task: text('task') || null,
    at: /^\d{1,15}$/.test(at) ? Number(at) : null,
  };
}
