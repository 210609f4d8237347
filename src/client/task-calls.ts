/** How a worker gets the next task of its queue, and gives up one that it has not finished. */
import type { TaskDetail, TaskView } from '../../machines/index.ts';
import type { ClientLink } from '../nats/client-link.ts';
import { newId } from '../nats/id.ts';
import { checkId } from '../parse-input.ts';
import { throwIfRefused } from '../service/refusal.ts';
import { askUntilAnswered } from './ask-again.ts';
import type { Publish } from './entries.ts';
import type { Queries } from './queries.ts';
import { readClaim } from './replies.ts';

/** `request`: the same one again gets the same task; by default each call has its own. */
export type ClaimOptions = { readonly queue?: string; readonly request?: string };

/** @throws StopgateError entry.refused: the worker does not hold it, or may not claim one; actor.unknown */
export type TaskCalls = {
  /**
   * Claims the first ready task of the queue (default: the worker's) and resolves to it: a higher priority first, then the
   * older. Null: none waits. Asked again with its id if a replica stops or dies.
   */
  claimNext(worker: string, options?: ClaimOptions): Promise<TaskView | null>;
  /** The task is escalated to a person, with the reason. */
  failTask(worker: string, task: string, reason?: string): Promise<TaskDetail>;
  /** The task is `idle` again: another worker may claim it. */
  releaseTask(worker: string, task: string): Promise<TaskDetail>;
};

/** How long the service may be away. */
const claimTimeoutMs = 30_000;

export function createTaskCalls(link: ClientLink, publish: Publish, { getWorker, getTask }: Queries): TaskCalls {
  const letGo = async (worker: string, type: 'task.failed' | 'task.released', data: { task: string }) => {
    await getWorker(worker); // who is unknown is not made known by this
    const { seq } = await publish('worker', worker, type, data);
    throwIfRefused(await getWorker(worker), seq);
    return getTask(data.task);
  };
  return {
    async claimNext(worker, { queue, request = newId() } = {}) {
      checkId('worker', worker);
      const body = { request, ...(queue === undefined ? {} : { queue }) };
      const ask = (timeoutMs: number) => link.request('claim-next', worker, body, timeoutMs);
      return readClaim(await askUntilAnswered(ask, claimTimeoutMs));
    },
    failTask: (worker, task, reason) =>
      letGo(worker, 'task.failed', { task, ...(reason === undefined ? {} : { reason }) }),
    releaseTask: (worker, task) => letGo(worker, 'task.released', { task }),
  };
}
