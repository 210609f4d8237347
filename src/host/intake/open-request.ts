/** A request that stores an entry and waits for the outcome of its fold: an attempt or an evaluation. */
import type { AppError } from '../../errors.ts';
import type { Holder } from './admission.ts';
import type { AttemptTraces } from './attempt-traces.ts';
import type { Waiter, Waiters } from './waiters.ts';
import type { WriteGate } from './write-gate.ts';

/** Called once, in the turn in which the answer is known. Must not throw. */
export type Reply<Answer> = (answer: Answer | Error) => void;

export type OpenRequestOptions<Answer> = {
  readonly gate: Pick<WriteGate, 'enter' | 'leave'>;
  readonly waiters: Waiters<Answer>;
  /** Null for requests without a trace. */
  readonly traces: Pick<AttemptTraces, 'onFailed'> | null;
};

/**
 * Holds a slot among the open requests, a waiter and, for an attempt, the trace of its entry. `finish` releases all of
 * them and replies, once; later calls have no effect. A client that disconnects does not finish its request: the
 * attempt is judged anyway and keeps its slot until the decision.
 */
export class OpenRequest<Answer> implements Holder, Waiter<Answer> {
  readonly actor: string;
  /** The message id of its entry. (If an agent has used that id, the entry is stored under another one.) */
  readonly key: string;
  waitsFor: string;
  readonly #options: OpenRequestOptions<Answer>;
  readonly #reply: Reply<Answer>;
  #isOpen = true;

  /** @throws AppError service.busy if no slot is free; log.unavailable or log.lost */
  constructor(options: OpenRequestOptions<Answer>, actor: string, key: string, reply: Reply<Answer>) {
    this.actor = actor;
    this.key = key;
    this.waitsFor = key;
    this.#options = options;
    this.#reply = reply;
    options.gate.enter(this);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  finish(answer: Answer | Error): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { gate, waiters, traces } = this.#options;
    waiters.remove(this);
    gate.leave(this);
    // A decision ends the trace elsewhere (`AttemptTraces.onDecided`). Other requests may still wait for it.
    if (traces !== null && answer instanceof Error && !waiters.has(this.waitsFor))
      traces.onFailed(this.waitsFor, answer);
    this.#reply(answer);
  }

  /** Cannot be evicted while its entry is on its way to the log: the caller could not know whether it was stored. */
  giveWay(error: AppError): boolean {
    if (!this.#options.waiters.awaitsAnswer(this.waitsFor)) return false;
    this.finish(error);
    return true;
  }
}
