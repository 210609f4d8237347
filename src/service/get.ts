/** get: one actor, as the fold sees it now. A read sees everything that was stored before it was asked. */
import { z } from 'zod';
import {
  checkpointOf,
  type Fleet,
  idSchema,
  type PromiseName,
  type TaskDetail,
  type WorkerView,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { fitView } from './fit-view.ts';
import { checkId, parseInput } from './parse-input.ts';
import { throwIfRefused } from './refusal.ts';
import { type Entity, findActor, type View, viewActor, viewWorkerOf } from './views.ts';

/** A message takes 1 MiB, unless the server is set otherwise. */
const viewBytesMax = 786_432;
/** `completionPromises`: those that count in the current iteration. Null: all, or there is no iteration. */
export type TaskDetailView = TaskDetail & { readonly completionPromises: readonly PromiseName[] | null };
export const detailSchema = z.object({ checkpoint: idSchema.optional(), entry: z.int().positive().optional() });
/** The reply to a question about one entry: it was not refused. */
export type EntryStanding = { readonly entry: number; readonly refused: null };

/**
 * `body`: `{ checkpoint? }` of a task, the one to show whole; by default the last. Or `{ entry }`: was this entry about
 * the actor refused? @throws AppError actor.unknown; entry.refused
 */
export async function get(
  host: Host,
  entity: Entity,
  id: string,
  body: unknown,
): Promise<View | TaskDetailView | EntryStanding> {
  checkId(entity, id);
  const { checkpoint, entry } = parseInput(detailSchema, body ?? {});
  await host.caughtUp();
  if (entry !== undefined) {
    throwIfEntryRefused(host, { entity, id }, entry);
    return { entry, refused: null };
  }
  const view = findActor(host, entity, id);
  if (!('hooks' in view)) return fitView(viewBytesMax, view);
  const { iteration } = host.fleet.tasks.get(id)?.snapshot.context ?? {};
  return fitView(viewBytesMax, {
    ...view,
    completionPromises: iteration?.completionPromises ?? null,
    checkpoint: findCheckpoint(host.fleet, id, checkpoint ?? null),
  });
}

/**
 * @param seq of an entry about this actor that is folded
 * @throws AppError entry.refused: the fold refused it
 */
export function throwIfEntryRefused(
  host: Host,
  { entity, id }: { readonly entity: Entity; readonly id: string },
  seq: number,
): void {
  const reason = host.refusal(seq, entity, id);
  if (reason !== null) throw new AppError('entry.refused', reason);
  // This replica may have begun at a snapshot behind the entry.
  throwIfRefused((viewActor(host, entity, id) ?? {}) as Partial<WorkerView>, seq);
}

/** The worker as this replica has folded it, at least up to `seq`. Null: unknown. */
export async function peek(host: Host, worker: string, seq: number): Promise<WorkerView | null> {
  checkId('worker', worker);
  await host.foldedTo(seq);
  return viewWorkerOf(host, worker);
}

/** @throws AppError actor.unknown: none of that name was saved */
function findCheckpoint(fleet: Fleet, task: string, checkpoint: string | null) {
  const saved = checkpointOf(fleet, task, checkpoint);
  if (saved !== null || checkpoint === null) return saved;
  throw new AppError('actor.unknown', `task ${task} has no checkpoint ${checkpoint}`);
}
