/** Reads tasks and workers for the tools, and changes them by entries that the fold may refuse. */
import { z } from 'zod';
import type { WorkerView } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { TaskDetailView } from '../../service/get.ts';
import type { ServicePort } from '../nats-port.ts';
import { defineTool, resolveWorker, type Tool, type ToolContext, worker } from './tool.ts';

/** @throws AppError actor.unknown, with a message that says how to create a task */
export async function getTask(port: ServicePort, task: string, body?: object): Promise<TaskDetailView> {
  try {
    return (await port.get('task', task, body)) as TaskDetailView;
  } catch (error) {
    if (!isUnknown(error)) throw error;
    throw new AppError(
      'actor.unknown',
      `task ${task} is unknown; create it with task_claim, hook_register, iteration_start or checkpoint_create, or with "stopgate publish task ${task} task.created '{}'"`,
      { cause: error },
    );
  }
}

/** Returns null if the actor is unknown. */
async function findActor<View>(port: ServicePort, entity: 'task' | 'worker', id: string): Promise<View | null> {
  try {
    return (await port.get(entity, id)) as View;
  } catch (error) {
    if (isUnknown(error)) return null;
    throw error;
  }
}

const isUnknown = (error: unknown): boolean => error instanceof AppError && error.code === 'actor.unknown';

type Views = { readonly task: TaskDetailView; readonly worker: WorkerView };

/**
 * Publishes an entry and returns the actor's view after it. The log also stores entries that are not valid in the
 * current state, so this asks the service whether the entry was refused.
 * @throws AppError entry.refused with the fold's reason
 */
export async function publishAndRead<Kind extends keyof Views>(
  { port }: Pick<ToolContext, 'port'>,
  entity: Kind,
  id: string,
  type: string,
  data: object,
): Promise<Views[Kind]> {
  // Fails before publishing if the service is unavailable.
  await findActor(port, entity, id);
  const { seq } = await port.publish({ entity, id, type, data });
  await port.get(entity, id, { entry: seq });
  return (await port.get(entity, id)) as Views[Kind];
}

const get = defineTool({
  name: 'worker_get',
  title: 'Show a worker',
  description: 'Shows a worker: state, tasks, plan, retries, idle time, last decision.',
  input: { worker },
  output: { worker: z.string(), state: z.string(), tasks: z.array(z.string()) },
  effect: 'reads',
  run: async (context, input) => {
    const id = resolveWorker(context, input.worker);
    const view = await findActor<WorkerView>(context.port, 'worker', id);
    if (view !== null) return { ...view, tasks: [...view.tasks] };
    throw new AppError(
      'actor.unknown',
      `worker ${id} is unknown; its first entry registers it, for example a task_claim`,
    );
  },
});

export const workerTools: readonly Tool[] = [get];
