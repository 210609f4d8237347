/** get: the view of one actor. A read reflects every entry stored before it. */
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

/** Fits into NATS's default message limit of 1 MiB. */
const viewBytesMax = 786_432;
/** `completionPromises`: those that count in the current iteration. Null if all count, or if there is no iteration. */
export type TaskDetailView = TaskDetail & { readonly completionPromises: readonly PromiseName[] | null };
export const detailSchema = z.object({ checkpoint: idSchema.optional(), entry: z.int().positive().optional() });
/** The reply to a question about one entry that was not refused. */
export type EntryStanding = { readonly entry: number; readonly refused: null };

/**
 * `body` is `{ checkpoint? }` for a task: the checkpoint to show in full (default: the last). Or `{ entry }`, to ask
 * whether this entry about the actor was refused.
 * @throws AppError actor.unknown or entry.refused
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
 * @param seq a folded entry about this actor
 * @throws AppError entry.refused if the fold refused it
 */
export function throwIfEntryRefused(
  host: Host,
  { entity, id }: { readonly entity: Entity; readonly id: string },
  seq: number,
): void {
  const reason = host.refusal(seq, entity, id);
  if (reason !== null) throw new AppError('entry.refused', reason);
  // If this replica started from a snapshot after the entry, only the view has the refusal.
  throwIfRefused((viewActor(host, entity, id) ?? {}) as Partial<WorkerView>, seq);
}

/** Returns the worker as folded here, at least up to `seq`, or null if unknown. */
export async function peek(host: Host, worker: string, seq: number): Promise<WorkerView | null> {
  checkId('worker', worker);
  await host.foldedTo(seq);
  return viewWorkerOf(host, worker);
}

/** @throws AppError actor.unknown if there is no checkpoint with that name */
function findCheckpoint(fleet: Fleet, task: string, checkpoint: string | null) {
  const saved = checkpointOf(fleet, task, checkpoint);
  if (saved !== null || checkpoint === null) return saved;
  throw new AppError('actor.unknown', `task ${task} has no checkpoint ${checkpoint}`);
}
