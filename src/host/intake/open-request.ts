/** A request that stores an entry and waits for what the fold says to it: an attempt or an evaluation. */
import type { AppError } from '../../errors.ts';
import type { Holder } from './admission.ts';
import type { AttemptTraces } from './attempt-traces.ts';
import type { Waiter, Waiters } from './waiters.ts';
import type { WriteGate } from './write-gate.ts';

/** Called once, in the turn that brings the answer. It must not throw. */
export type Reply<Answer> = (answer: Answer | Error) => void;

export type OpenRequestOptions<Answer> = {
  readonly gate: Pick<WriteGate, 'enter' | 'leave'>;
  readonly waiters: Waiters<Answer>;
  /** Null if the request has no trace. */
  readonly traces: Pick<AttemptTraces, 'onFailed'> | null;
};

/**
 * Holds a place among the open requests, its waiter and, if it is an attempt, the trace of its entry. `finish` gives all
 * of them back and replies, once: later calls have no effect. A client that goes away does not finish its request. The
 * attempt is judged all the same, and so it has its place until the decision.
 */
export class OpenRequest<Answer> implements Holder, Waiter<Answer> {
  readonly actor: string;
  /** The message id of its entry, unless an agent has used that id before. */
  readonly key: string;
  waitsFor: string;
  readonly #options: OpenRequestOptions<Answer>;
  readonly #reply: Reply<Answer>;
  #isOpen = true;

  /** @throws AppError log.unavailable, log.lost, service.busy: there is no place for it */
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
    // The decision ends the trace (`AttemptTraces.onDecided`). Others may still wait for it.
    if (traces !== null && answer instanceof Error && !waiters.has(this.waitsFor))
      traces.onFailed(this.waitsFor, answer);
    this.#reply(answer);
  }

  /** While its entry is on its way to the log, nobody would know what became of it. */
  giveWay(error: AppError): boolean {
    if (!this.#options.waiters.awaitsAnswer(this.waitsFor)) return false;
    this.finish(error);
    return true;
  }
}
