/** An operator's answers; they need an operator's credentials (`role: 'operator'`). */
import type { WorkerView } from '../../machines/index.ts';
import { createAnswer } from '../service/open-request.ts';
import { throwIfRefused } from '../service/refusal.ts';
import type { Publish } from './entries.ts';
import type { Queries } from './queries.ts';

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
