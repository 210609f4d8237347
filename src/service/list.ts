/**
 * list: pages of the actors of one kind, or of everything that waits for a person, sorted by id. Like `get`, it
 * reflects every entry stored before the request. It yields to the event loop between chunks, so that decisions are not
 * delayed in a fleet of 100,000 workers.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import {
  type Fleet,
  idSchema,
  type PersonWait,
  personKinds,
  personWaitsOfQueue,
  personWaitsOfTask,
  personWaitsOfWorker,
  viewedPresences,
  viewQueue,
  viewTask,
  viewWorker,
  workerStates,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { fitView } from './fit-view.ts';
import { parseInput } from './parse-input.ts';
import { type Entity, type View, viewActor } from './views.ts';

const pageMax = 1_000;
/** A page ends once it exceeds this size, and one actor is cut to it, so a page always fits into a message. */
const pageBytesMax = 200_000;
/**
 * Number of views created per turn of the event loop: one to two milliseconds, with the decoding of stopped workers.
 */
const viewsPerTurn = 128;
/** Number of ids sorted per turn: about three milliseconds. */
const sortedPerTurn = 8_192;
const filters = {
  state: z.enum(workerStates).optional(),
  presence: z.enum(viewedPresences).optional(),
  queue: idSchema.optional(),
  agent: z.string().optional(),
  kind: z.enum(personKinds).optional(),
};
export const filterSchema = z.strictObject({
  ...filters,
  sort: z.enum(['usd', 'tokens', 'turns']).optional(),
  limit: z.int().min(1).max(pageMax).default(100),
  after: idSchema.or(z.string().regex(/^(worker|task|queue|\d{1,16})\.[\w-]+$/)).optional(),
});
type FilterName = keyof typeof filters;
type Filter = z.infer<typeof filterSchema>;

/** The filters of each list, by name. */
const lists = {
  workers: ['state', 'presence', 'queue', 'agent'],
  tasks: ['state', 'queue'],
  queues: ['queue'],
  escalations: ['kind', 'state', 'presence', 'queue', 'agent'],
} as const satisfies Record<string, readonly FilterName[]>;
export type ListName = keyof typeof lists;
export const listNames = Object.keys(lists) as ListName[];

/**
 * `next` is the `after` of the next page: an id, `<entity>.<id>` for escalations, or `<used>.<id>` with `sort`. Null on
 * the last page.
 */
export type Page = { items: (View | PersonWait)[]; next: string | null };

/** @throws AppError input.bad, also for a filter that this list does not have */
export async function list(host: Host, name: ListName, body: unknown): Promise<Page> {
  if (typeof body === 'object' && body !== null) refuseUnknownFilters(name, body);
  const filter = parseInput(filterSchema, body ?? {});
  await host.caughtUp();
  const { after, limit } = filter;
  const { pop, isEmpty, cursor } =
    filter.sort === undefined
      ? await sortIds(idsOf(host.fleet, name), after)
      : await sortByUse(host.fleet, name, filter.sort, after);
  const items: Page['items'] = [];
  let length = 0;
  for (let count = 1; ; count += 1) {
    const id = pop();
    if (id === undefined) return { items, next: null };
    if (count % viewsPerTurn === 0) await nextTurn();
    const views = viewsOf(host, name, id).filter((view) => matches(view, filter));
    for (const view of views) {
      const fitted = fitView(pageBytesMax / views.length, view);
      length += sizeOf(fitted);
      items.push(fitted);
    }
    // All requests of one worker are on one page.
    if (items.length >= limit || length > pageBytesMax) return { items, next: isEmpty() ? null : (cursor?.() ?? id) };
  }
}

/** If a misspelt filter were ignored, the unfiltered list would look like an answer. */
function refuseUnknownFilters(name: ListName, body: object): void {
  const known: readonly string[] = [...lists[name], 'sort', 'limit', 'after'];
  if ('sort' in body && body.sort !== undefined && name !== 'workers' && name !== 'tasks') {
    const message = `${name} cannot be sorted: only workers and tasks have usage`;
    throw new AppError('input.bad', message, { issues: [{ path: 'sort', message }] });
  }
  const unknown = Object.entries(body)
    .find(([key, value]) => value !== undefined && !known.includes(key))?.[0]
    .slice(0, 128);
  if (unknown === undefined) return;
  const message = `is not a filter of ${name}; use ${lists[name].join(', ')}`;
  throw new AppError('input.bad', `${unknown} ${message}`, { issues: [{ path: unknown, message }] });
}

type Sorting = NonNullable<Filter['sort']>;

/** Sorts by usage, largest first, then by id. `after` is where the previous page ended. */
async function sortByUse(fleet: Fleet, name: ListName, by: Sorting, after: string | undefined) {
  const field = by === 'usd' ? 'nanoUsd' : by;
  const found: { readonly id: string; readonly use: number }[] = [];
  for (const id of idsOf(fleet, name)) {
    const used =
      name === 'workers'
        ? fleet.workers.read(id)?.snapshot.context.worker.usage.session
        : fleet.tasks.read(id)?.snapshot.context.usage;
    found.push({ id, use: used?.[field] ?? 0 });
    if (found.length % viewsPerTurn === 0) await nextTurn();
  }
  found.sort((a, b) => b.use - a.use || (a.id < b.id ? -1 : 1));
  const from = after === undefined ? null : cursorOf(after, found);
  const first =
    from === null ? 0 : found.findIndex(({ id, use }) => use < from.use || (use === from.use && id > from.id));
  let next = first < 0 ? found.length : first;
  return {
    isEmpty: () => next >= found.length,
    cursor: () => `${found[next - 1]?.use}.${found[next - 1]?.id}`,
    pop(): string | undefined {
      next += 1;
      return found[next - 1]?.id;
    },
  };
}

type Use = { readonly id: string; readonly use: number };

/**
 * Parses where a page ended: the usage of its last actor at that time, and its id. New usage only moves actors towards
 * the front, so paging always advances.
 * @throws AppError input.bad for an unknown id
 */
function cursorOf(after: string, found: readonly Use[]): Use {
  const [, use, id] = /^(\d+)\.(.+)$/.exec(after) ?? [];
  if (use !== undefined && id !== undefined) return { use: Number(use), id };
  const known = found.find(({ id }) => id === after);
  if (known !== undefined) return known;
  const message = `'${after.slice(0, 140)}' is unknown: start again without it`;
  throw new AppError('input.bad', message, { issues: [{ path: 'after', message }] });
}

function viewsOf(host: Host, name: ListName, id: string): Page['items'] {
  if (name === 'escalations') return personWaitsOf(host, id);
  const view = viewActor(host, name.slice(0, -1) as Entity, id);
  return view === null ? [] : [view];
}

/** Creates no view for workers that do not wait for a person, as most do not. */
function personWaitsOf({ fleet, logNow }: Host, key: string): PersonWait[] {
  const [entity, id = ''] = key.split('.');
  if (entity === 'task') {
    const view = viewTask(fleet, id);
    return view === null ? [] : personWaitsOfTask(view);
  }
  if (entity === 'queue') {
    const view = viewQueue(fleet, id);
    return view === null ? [] : personWaitsOfQueue(view);
  }
  const context = fleet.workers.read(id)?.snapshot.context.worker;
  if (context === undefined || (context.escalation === null && context.inputs.length === 0)) return [];
  const view = viewWorker(fleet, id, logNow());
  return view === null ? [] : personWaitsOfWorker(view);
}

/** Sorts the ids after `after`, in parts. `pop` merges the parts by removing the smallest id. */
async function sortIds(ids: Iterable<string>, after = '') {
  /** Each part has its smallest id last. No part is empty. */
  const parts: string[][] = [];
  const add = (part: string[]) => part.length > 0 && parts.push(part.sort().reverse());
  let part: string[] = [];
  let read = 0;
  for (const id of ids) {
    if (id > after) part.push(id);
    read += 1;
    if (read % sortedPerTurn !== 0) continue;
    add(part);
    part = [];
    await nextTurn();
  }
  add(part);
  return {
    isEmpty: () => parts.length === 0,
    cursor: null,
    pop(): string | undefined {
      let least = 0;
      for (let index = 1; index < parts.length; index += 1)
        if ((parts[index]?.at(-1) ?? '') < (parts[least]?.at(-1) ?? '')) least = index;
      const id = parts[least]?.pop();
      if (parts[least]?.length === 0) parts.splice(least, 1);
      return id;
    },
  };
}

const sizeOf = (view: object): number => Buffer.byteLength(JSON.stringify(view));

/** Returns the current ids. Actors may be added or removed between two turns. */
function idsOf({ workers, tasks, queues, escalated, neglected }: Fleet, name: ListName): Iterable<string> {
  switch (name) {
    case 'workers':
      return [...workers.keys()];
    case 'tasks':
      return [...tasks.keys()];
    case 'queues':
      return new Set(['main', ...queues.keys()]);
    case 'escalations': {
      const ofTasks = [...escalated.values()].filter(({ entity }) => entity === 'task');
      const ofQueues = [...neglected.values()].filter(({ entity }) => entity === 'queue');
      return [
        ...ofTasks.map(({ id }) => `task.${id}`),
        ...[...workers.keys()].map((id) => `worker.${id}`),
        ...ofQueues.map(({ id }) => `queue.${id}`),
      ];
    }
  }
}

function matches(view: View | PersonWait, filter: Filter): boolean {
  const fields = view as Readonly<Record<string, unknown>>;
  return (Object.keys(filters) as FilterName[]).every(
    (name) => filter[name] === undefined || fields[name] === filter[name],
  );
}
