/** Calls about tasks that are given up, and an operator's answers. */
import type { TaskDetail, TaskView, WorkerView } from '../../machines/index.ts';
import type { ClientLink } from '../nats/client-link.ts';
import { newId } from '../nats/id.ts';
import { checkId } from '../service/parse-input.ts';
import { createAnswer, throwIfRefused } from '../service/refusal.ts';
import { askUntilAnswered } from './decision-calls.ts';
import type { Publish } from './entries.ts';
import type { Queries } from './queries.ts';
import { readClaim } from './replies.ts';

export type InputReply = {
  /** The name of the operator, stored with the answer. */
  readonly by: string;
  readonly verdict: 'allow' | 'deny';
  /** Which request; may be left out where one is open. */
  readonly request?: string;
  /** For the agent: the reason of a `deny`, the choice for a question. */
  readonly message?: string;
};

export type OperatorCalls = {
  /**
   * Answers what an agent asks, where its policy has `ask`. Resolves to the worker after it.
   * @throws StopgateError entry.refused: it is not open, or was answered by somebody else; input.bad: a question without
   * an answer; actor.unknown
   */
  answer(worker: string, reply: InputReply): Promise<WorkerView>;
};

export function createOperatorCalls(publish: Publish, { getWorker }: Queries): OperatorCalls {
  return {
    async answer(worker, { by, ...reply }) {
      const before = await getWorker(worker);
      const fields = createAnswer(before, reply);
      const { seq } = await publish('own.worker', worker, 'input.answered', { by, ...fields });
      const after = await getWorker(worker);
      // Somebody else was quicker, or the agent no longer waits.
      throwIfRefused(after, seq);
      return after;
    },
  };
}

// How a worker gets the next task of its queue, and gives up one that it has not finished.

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

/** The service may be away this long. */
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
