/** get: one actor, as the fold sees it now. A read sees everything that was stored before it was asked. */
import { z } from 'zod';
import { checkpointOf, type Fleet, idSchema, type TaskDetail, type WorkerView } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { checkId, parseInput } from '../parse-input.ts';
import { type Entity, findActor, type View, viewWorkerOf } from './actor.ts';
import { fitView } from './fit-view.ts';

/** A message takes 1 MiB, unless the server is set otherwise. */
const viewBytesMax = 786_432;
const detailSchema = z.object({ checkpoint: idSchema.optional() });

/** `body` of a task: `{ checkpoint? }`, the one to show whole; by default the last. @throws AppError actor.unknown */
export async function get(host: Host, entity: Entity, id: string, body: unknown): Promise<View | TaskDetail> {
  checkId(entity, id);
  const { checkpoint } = parseInput(detailSchema, body ?? {});
  await host.caughtUp();
  const view = findActor(host, entity, id);
  const whole = 'hooks' in view ? { ...view, checkpoint: findCheckpoint(host.fleet, id, checkpoint ?? null) } : view;
  return fitView(viewBytesMax, whole);
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
