/**
 * list: actors of one kind, in the order of their ids, by page. Like `get`, it sees everything that was stored before
 * the request. It looks at a few of them at a time, so that no decision waits until 100,000 have been looked at.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { cutMiddle, type Fleet, idSchema, presences, workerStates } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
import { parseInput } from '../parse-input.ts';
import { type Entity, type View, viewActor } from './actor.ts';

const pageMax = 1_000;
/** A page fits into one message, with one more actor. */
const pageBytesMax = 200_000;
/** Of a step, where the plan alone would fill a page; `get` has all of it. */
const titleCharsMax = 100;
/** In one turn of the loop: one to two milliseconds. One that has stopped is unpacked to be looked at. */
const viewsPerTurn = 128;
/** Likewise: about three milliseconds. */
const sortedPerTurn = 8_192;
const filterSchema = z.object({
  state: z.enum(workerStates).optional(),
  presence: z.enum(presences).optional(),
  queue: idSchema.optional(),
  agent: z.string().optional(),
  limit: z.int().min(1).max(pageMax).default(100),
  after: idSchema.optional(),
});
type Filter = z.infer<typeof filterSchema>;

/** `next`: the id to go on after; null: the list is complete. */
export type Page = { items: View[]; next: string | null };

export async function list(host: Host, entity: Entity, body: unknown): Promise<Page> {
  const filter = parseInput(filterSchema, body ?? {});
  await host.caughtUp();
  const { after, limit } = filter;
  const { pop, isEmpty } = await sortIds(idsOf(host.fleet, entity), after);
  const items: View[] = [];
  let length = 0;
  for (let looked = 1; ; looked += 1) {
    const id = pop();
    if (id === undefined) return { items, next: null };
    if (looked % viewsPerTurn === 0) await nextTurn();
    const whole = viewActor(host, entity, id);
    if (whole === null || !matches(whole, filter)) continue;
    const view = fitInto(pageBytesMax, whole);
    length += sizeOf(view);
    items.push(view);
    if (items.length === limit || length > pageBytesMax) return { items, next: isEmpty() ? null : id };
  }
}

/** Those after `after`. They are sorted in parts, which are merged as the smallest is popped. */
async function sortIds(ids: Iterable<string>, after = '') {
  /** Each with its smallest last; none is empty. */
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
    pop(): string | undefined {
      let least = 0;
      for (let at = 1; at < parts.length; at += 1)
        if ((parts[at]?.at(-1) ?? '') < (parts[least]?.at(-1) ?? '')) least = at;
      const id = parts[least]?.pop();
      if (parts[least]?.length === 0) parts.splice(least, 1);
      return id;
    },
  };
}

const sizeOf = (view: View): number => Buffer.byteLength(JSON.stringify(view));

function fitInto(bytesMax: number, view: View): View {
  if (!('plan' in view) || view.plan === null || sizeOf(view) <= bytesMax) return view;
  return { ...view, plan: view.plan.map((step) => ({ ...step, title: cutMiddle(step.title, titleCharsMax) })) };
}

/** As they are now, also when some come and go between two turns. */
function idsOf(fleet: Fleet, entity: Entity): Iterable<string> {
  if (entity === 'worker') return [...fleet.workers.keys()];
  return entity === 'task' ? [...fleet.tasks.keys()] : new Set(['main', ...fleet.queues.keys()]);
}

/** An actor that does not have the field of a filter is left out. */
function matches(view: View, { state, presence, queue, agent }: Filter): boolean {
  const has = (key: string, wanted: unknown) =>
    wanted === undefined || (view as Record<string, unknown>)[key] === wanted;
  return has('state', state) && has('presence', presence) && has('queue', queue) && has('agent', agent);
}
