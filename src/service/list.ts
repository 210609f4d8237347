/** list: actors of one kind, in the order of their ids, by page. As a `get` it sees what was stored before. */
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
  const ids = idsOf(host.fleet, entity)
    .filter((id) => after === undefined || id > after)
    .sort();
  const items: View[] = [];
  let length = 0;
  for (const [index, id] of ids.entries()) {
    const whole = viewActor(host, entity, id);
    if (whole === null || !matches(whole, filter)) continue;
    const view = fitInto(pageBytesMax, whole);
    length += sizeOf(view);
    items.push(view);
    if (items.length === limit || length > pageBytesMax) return { items, next: index < ids.length - 1 ? id : null };
  }
  return { items, next: null };
}

const sizeOf = (view: View): number => Buffer.byteLength(JSON.stringify(view));

function fitInto(bytesMax: number, view: View): View {
  if (!('plan' in view) || view.plan === null || sizeOf(view) <= bytesMax) return view;
  return { ...view, plan: view.plan.map((step) => ({ ...step, title: cutMiddle(step.title, titleCharsMax) })) };
}

function idsOf(fleet: Fleet, entity: Entity): string[] {
  if (entity === 'worker') return [...fleet.workers.keys()];
  return entity === 'task' ? [...fleet.tasks.keys()] : [...new Set(['main', ...fleet.queues.keys()])];
}

/** An actor that does not have the field of a filter is left out. */
function matches(view: View, { state, presence, queue, agent }: Filter): boolean {
  const has = (key: string, wanted: unknown) =>
    wanted === undefined || (view as Record<string, unknown>)[key] === wanted;
  return has('state', state) && has('presence', presence) && has('queue', queue) && has('agent', agent);
}
