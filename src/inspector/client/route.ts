/**
 * The route: everything the page shows, kept in the address so that it can be shared, reloaded and navigated back to.
 */
import { computed, signal } from '@preact/signals';
import type { State } from '../../../machines/index.ts';

const views = ['workers', 'inbox', 'tasks', 'queues', 'entries', 'history', 'what-if', 'service'] as const;
export type View = (typeof views)[number];
/** The sections of the panel. */
export const tabs = ['why', 'timeline', 'chart', 'plan'] as const;
export type Tab = (typeof tabs)[number];
export type Route = {
  readonly view: View;
  /** The search text. */
  readonly q: string;
  /** States, separated by commas. */
  readonly state: string;
  readonly presence: string;
  readonly agent: string;
  readonly queue: string;
  /** A column's key; descending with a leading minus. */
  readonly sort: string;
  /** Time span of the history: '' for the last hour, or two ISO 8601 times separated by a slash. */
  readonly span: string;
  readonly worker: string | null;
  readonly task: string | null;
  readonly tab: Tab;
  /** Sequence of the log entry whose state is shown, or null while live. */
  readonly at: number | null;
  /** The time that was asked for, in milliseconds since 1970: at or after entry `at`, and before the next. */
  readonly time: number | null;
  /** Entries shown on the time axis. Null shows all; a null `to` extends to the newest entry. */
  readonly range: readonly [from: number, to: number | null] | null;
  /** Entry at which the live view was left or paused, or null. */
  readonly paused: number | null;
};

const filters = ['q', 'state', 'presence', 'agent', 'queue', 'sort', 'span'] as const;

/** `?fleet=F`, for a service with several fleets. Constant: switching fleets loads a new page. */
export const fleetInAddress = new URLSearchParams(location.search).get('fleet');

export const route = signal<Route>(readRoute(null));
addEventListener('popstate', () => {
  route.value = readRoute(route.peek());
});

/** The actor shown in the side panel. */
export const selected = computed(() => {
  const { worker, task } = route.value;
  if (worker !== null) return { entity: 'worker', id: worker } as const;
  return task === null ? null : ({ entity: 'task', id: task } as const);
});

/** Changes the route. `replace` adds no step to the browser's history, for example while typing. */
export function navigate(change: Partial<Route>, how: 'push' | 'replace' = 'push'): void {
  route.value = changed(change);
  const address = hrefOf({});
  if (how === 'replace') history.replaceState(null, '', address);
  else if (address !== location.pathname + location.search) history.pushState(null, '', address);
}

/** The current route with changes. A time belongs to its entry. */
const changed = (change: Partial<Route>): Route =>
  'at' in change && !('time' in change) ? { ...route.value, ...change, time: null } : { ...route.value, ...change };

/** The current address with changes. */
export function hrefOf(change: Partial<Route>): string {
  const { view, worker, task, tab, at, time, range, paused, ...rest } = changed(change);
  const query = new URLSearchParams(fleetInAddress === null ? {} : { fleet: fleetInAddress });
  if (view !== 'workers') query.set('view', view);
  for (const name of filters) if (rest[name] !== '') query.set(name, rest[name]);
  if (worker !== null) query.set('worker', worker);
  if (task !== null) query.set('task', task);
  if (tab !== 'why' && (worker ?? task) !== null) query.set('tab', tab);
  if (at !== null) {
    query.set('at', String(at));
    if (time !== null) query.set('time', String(time));
    if (range !== null) query.set('range', `${range[0]}-${range[1] ?? ''}`);
  }
  if (paused !== null) query.set('paused', String(paused));
  const text = query.toString().replaceAll('%2C', ',');
  return text === '' ? location.pathname : `${location.pathname}?${text}`;
}

/** The route change that selects an actor. */
export const selection = (entity: 'worker' | 'task', id: string): Pick<Route, 'worker' | 'task'> =>
  entity === 'worker' ? { worker: id, task: null } : { worker: null, task: id };

export const noSelection = { worker: null, task: null } as const satisfies Partial<Route>;

/** @param before the current route, or null when the page is opened */
function readRoute(before: Route | null): Route {
  const query = new URLSearchParams(location.search);
  const text = (name: string) => query.get(name) ?? '';
  const paused = readSeq(text('paused'));
  return {
    view: views.find((view) => view === text('view')) ?? 'workers',
    q: text('q'),
    state: text('state'),
    presence: text('presence'),
    agent: text('agent'),
    queue: text('queue'),
    sort: text('sort'),
    span: text('span'),
    worker: text('worker') || null,
    task: text('task') || null,
    tab: tabs.find((tab) => tab === text('tab')) ?? 'why',
    at: readSeq(text('at')) ?? atOfPause(paused, before),
    time: readSeq(text('time')),
    paused,
    range: readRange(text('range')),
  };
}

/** When a paused page is reloaded, it shows the past at the entry at which it was paused. */
function atOfPause(paused: number | null, before: Route | null): number | null {
  return before !== null && before.at === null && before.paused === paused ? null : paused;
}

function readSeq(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function readRange(text: string): Route['range'] {
  const [, from, to] = /^(\d{1,15})-(\d{0,15})$/.exec(text) ?? [];
  return from === undefined ? null : [Number(from), to === '' ? null : Number(to)];
}

/** Adds a state to the state filter, or removes it. */
export function toggleState(state: State): void {
  const picked = new Set(route.value.state === '' ? [] : route.value.state.split(','));
  if (!picked.delete(state)) picked.add(state);
  navigate({ state: [...picked].join(',') });
}
