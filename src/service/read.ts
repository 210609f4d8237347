/** get and list: actors as the fold sees them now. A read sees everything that was stored before it was asked. */

import { z } from 'zod';
import {
  checkpointOf,
  type Fleet,
  idSchema,
  presences,
  type TaskDetail,
  viewQueue,
  viewTask,
  viewWorker,
  type WorkerView,
  workerStates,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { parseInput } from '../parse-input.ts';
import { checkId } from './decide.ts';
import type { Entity, View } from './service.ts';

const pageMax = 1_000;
const pageLengthMax = 200_000;
const filterSchema = z.object({
  state: z.enum(workerStates).optional(),
  presence: z.enum(presences).optional(),
  queue: idSchema.optional(),
  agent: z.string().optional(),
  limit: z.int().min(1).max(pageMax).default(100),
  after: idSchema.optional(),
});
const detailSchema = z.object({ checkpoint: idSchema.optional() });
type Filter = z.infer<typeof filterSchema>;

export type Reader = {
  get(entity: Entity, id: string, body?: unknown): Promise<View | TaskDetail>;
  peek(worker: string, seq: number): Promise<WorkerView | null>;
  list(entity: Entity, body: unknown): Promise<{ items: View[]; next: string | null }>;
};

export function createReader(host: Host): Reader {
  return {
    async get(entity, id, body) {
      checkId(entity, id);
      const { checkpoint } = parseInput(detailSchema, body ?? {});
      await host.caughtUp();
      const view = viewOf(host.fleet, entity, id, host.logNow());
      if (view === null) throw new AppError('actor.unknown', `${entity} ${id} is unknown in fleet ${host.fleet.name}`);
      return 'hooks' in view ? { ...view, checkpoint: savedIn(host.fleet, id, checkpoint ?? null) } : view;
    },
    async peek(worker, seq) {
      checkId('worker', worker);
      await host.foldedTo(seq);
      return viewWorker(host.fleet, worker, host.logNow());
    },
    async list(entity, body) {
      const filter = parseInput(filterSchema, body ?? {});
      await host.caughtUp();
      return page(host.fleet, entity, filter, host.logNow());
    },
  };
}

/** @throws AppError actor.unknown: none of that name was saved */
function savedIn(fleet: Fleet, task: string, checkpoint: string | null) {
  const saved = checkpointOf(fleet, task, checkpoint);
  if (saved === null && checkpoint !== null)
    throw new AppError('actor.unknown', `task ${task} has no checkpoint ${checkpoint}`);
  return saved;
}

function page(fleet: Fleet, entity: Entity, filter: Filter, nowMs: number): { items: View[]; next: string | null } {
  const { after, limit } = filter;
  const items: View[] = [];
  let length = 0;
  const ids = idsOf(fleet, entity)
    .filter((id) => after === undefined || id > after)
    .sort();
  for (const [index, id] of ids.entries()) {
    const view = viewOf(fleet, entity, id, nowMs);
    if (view === null || !matches(view, filter)) continue;
    // A page that fits into one message: a reader goes on with `next`.
    length += JSON.stringify(view).length;
    items.push(view);
    if (items.length === limit || length > pageLengthMax) return { items, next: index < ids.length - 1 ? id : null };
  }
  return { items, next: null };
}

function idsOf(fleet: Fleet, entity: Entity): string[] {
  if (entity === 'worker') return [...fleet.workers.keys()];
  return entity === 'task' ? [...fleet.tasks.keys()] : [...new Set(['main', ...fleet.queues.keys()])];
}

function viewOf(fleet: Fleet, entity: Entity, id: string, nowMs: number): View | null {
  if (entity === 'worker') return viewWorker(fleet, id, nowMs);
  return entity === 'task' ? viewTask(fleet, id) : viewQueue(fleet, id);
}

/** A filter on what an actor does not have leaves it out. */
function matches(view: View, { state, presence, queue, agent }: Filter): boolean {
  const has = (key: string, wanted: unknown) =>
    wanted === undefined || (view as Record<string, unknown>)[key] === wanted;
  return has('state', state) && has('presence', presence) && has('queue', queue) && has('agent', agent);
}
