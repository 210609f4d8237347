/**
 * An agent's adapter gives the edges one hook call, which can be translated into entries and answered. Pure: no clock,
 * no I/O, and nothing is remembered between calls. The edge looks the worker up and hands it in.
 */
import type { AttemptFields, InputAnswer } from '../../../machines/index.ts';
import type { AnswerableDecision } from './block-text.ts';
import type { InputFields } from './permission-requests.ts';
import type { PriorWorker } from './prior-worker.ts';
import type { UnsolicitedCheck } from './unsolicited-checks.ts';

export type WorkerEntry = {
  readonly entity: 'worker';
  readonly id: string;
  /** `<noun>.<verb>` */
  readonly type: string;
  readonly data: object;
  /** An entry with the same id is stored once within 2 minutes. */
  readonly messageId?: string;
};

export type Translation = {
  readonly worker: string;
  /** To be stored in this order, before the stop is decided. */
  readonly entries: readonly WorkerEntry[];
  /** Not null: the agent wants to stop and waits for the decision. It names an `attempt` only if the agent has one. */
  readonly stop: AttemptFields | null;
  /** Not null: the agent did not ask to stop, and yet a check may have an answer for it. */
  readonly check: UnsolicitedCheck | null;
  /** Not null: the agent asks a person, and its hook can be answered. Stored after the entries. */
  readonly ask: InputFields | null;
  /** Not null: the answer to the call. Then nothing is checked. */
  readonly immediateAnswer: object | null;
};

export type HookCall = {
  readonly worker: string;
  /** The agent's own name of the event. */
  readonly event: string;
  translate(prior: PriorWorker): Translation;
  /**
   * The answer to the agent. Null: an empty answer, which lets it continue (or stop). `check`: what the decision was
   * made for, if not for a stop. Then only a decision that `isNews` may be passed (see unsolicited-checks.ts).
   */
  answer(decision: AnswerableDecision, check?: UnsolicitedCheck | null): object | null;
  /** The answer to the agent that asked. Null: its hook cannot be answered, or not so. */
  answerInput(answer: InputAnswer): object | null;
};

/**
 * `event`: its name, for an agent that leaves it out of its JSON.
 * @throws AppError input.bad: not a hook call of this agent
 */
export type ReadHook = (body: unknown, event?: string) => HookCall;
