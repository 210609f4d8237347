/** How a worker gives up a task that it has not finished. */
import type { TaskDetail } from '../../machines/index.ts';
import { throwIfRefused } from '../service/refusal.ts';
import type { Publish } from './entries.ts';
import type { Queries } from './queries.ts';

/** Each resolves to the task after it. @throws StopgateError entry.refused: the worker does not hold it; actor.unknown */
export type TaskCalls = {
  /** The task is escalated to a person, with the reason. */
  failTask(worker: string, task: string, reason?: string): Promise<TaskDetail>;
  /** The task is `idle` again: another worker may claim it. */
  releaseTask(worker: string, task: string): Promise<TaskDetail>;
};

export function createTaskCalls(publish: Publish, { getWorker, getTask }: Queries): TaskCalls {
  const letGo = async (worker: string, type: 'task.failed' | 'task.released', data: { task: string }) => {
    await getWorker(worker); // who is unknown is not made known by this
    const { seq } = await publish('worker', worker, type, data);
    throwIfRefused(await getWorker(worker), seq);
    return getTask(data.task);
  };
  return {
    failTask: (worker, task, reason) =>
      letGo(worker, 'task.failed', { task, ...(reason === undefined ? {} : { reason }) }),
    releaseTask: (worker, task) => letGo(worker, 'task.released', { task }),
  };
}
