/** Tasks and workers as the tools see them: looked up, and changed by an entry that the fold may refuse. */
import type { TaskDetail, WorkerView } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { refusalSince } from '../log-text/refusal.ts';
import type { McpPort } from './port.ts';
import type { ToolContext } from './tool.ts';

/** @throws AppError actor.unknown, with how a task comes to be */
export async function getTask(port: McpPort, task: string, body?: object): Promise<TaskDetail> {
  try {
    return (await port.get('task', task, body)) as TaskDetail;
  } catch (error) {
    if (!isUnknown(error)) throw error;
    throw new AppError(
      'actor.unknown',
      `task ${task} is unknown; create it by task_claim, hook_register, iteration_start or checkpoint_create, or by "stopgate publish task ${task} task.created '{}'"`,
      { cause: error },
    );
  }
}

/** Null: nobody has heard of it. */
export async function findActor<View>(port: McpPort, entity: 'task' | 'worker', id: string): Promise<View | null> {
  try {
    return (await port.get(entity, id)) as View;
  } catch (error) {
    if (isUnknown(error)) return null;
    throw error;
  }
}

const isUnknown = (error: unknown): boolean => error instanceof AppError && error.code === 'actor.unknown';

type Viewed = { readonly task: TaskDetail; readonly worker: WorkerView };

/**
 * Stores an entry and gives its actor as it is then. An entry that makes no sense now is stored too: the actor lists it
 * as refused, which is looked for here, since the log gives no answer.
 * @throws AppError entry.refused with the fold's reason
 */
export function change<Kind extends keyof Viewed>(
  { port, mutex }: Pick<ToolContext, 'port' | 'mutex'>,
  entity: Kind,
  id: string,
  type: string,
  data: object,
): Promise<Viewed[Kind]> {
  return mutex.runExclusive(`${entity}.${id}`, async () => {
    const before = (await findActor<Viewed[Kind]>(port, entity, id))?.refused ?? [];
    await port.publish({ entity, id, type, data });
    const view = (await port.get(entity, id)) as Viewed[Kind];
    const refusal = refusalSince(before, view.refused, type);
    if (refusal !== null) throw new AppError('entry.refused', refusal);
    return view;
  });
}
