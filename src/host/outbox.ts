/**
 * What must go out once: the `decision` entry of each attempt, and the answer to an inbox that an attempt named. It
 * waits here until the fold meets the decision entry. The attempt's owner sends it; who finds an owner gone sends in
 * its place, and the message id makes a repeat one entry.
 */
import type { Decision } from '../../machines/index.ts';
import { encodeDecision, type HostContext, subject } from './context.ts';

type OutboxMessage = {
  readonly decision: Decision;
  readonly owner: string | null;
  readonly inbox: string | null;
  readonly sinceMs: number;
  sentMs: number;
};

export type Outbox = {
  readonly size: number;
  /** `everyone`: no effect was needed, so every replica may answer the inbox; the answers are equal. */
  put(decision: Decision, owner: string | null, inbox: string | null, everyone: boolean): void;
  /** The fold met the decision entry. */
  published(worker: string, attempt: string): void;
  find(worker: string, attempt: string): Decision | null;
  /** The log's head is reached: what has no entry yet goes out. */
  open(): void;
  /** Owners of messages that lie here for longer than `ageMs`. */
  overdueOwners(ageMs: number): Set<string | null>;
  sendFor(owner: string | null): void;
  /** Sends again what the log has not delivered. */
  resend(): void;
};

const resendMs = 2_000;
const keyOf = (worker: string, attempt: string | null) => `${worker}:${attempt}`;

export function createOutbox(context: HostContext): Outbox {
  const messages = new Map<string, OutboxMessage>();

  const answerInbox = ({ decision, inbox }: OutboxMessage) => {
    if (inbox === null || context.bus.answer(inbox, encodeDecision(decision))) return;
    context.logger.warn({ workerId: decision.worker, inbox }, 'answer withheld: the reply subject is no inbox');
  };
  // After the answers: whoever waits for one waits no longer than for the fold.
  const queue: OutboxMessage[] = [];
  const send = (message: OutboxMessage) => {
    message.sentMs = context.clock();
    if (queue.push(message) === 1) setImmediate(sendQueued);
  };
  const sendQueued = () => {
    for (const message of queue.splice(0)) {
      const { worker, attempt } = message.decision;
      // Whoever comes back after a silence folds the attempt and the decision that another has stored in one go.
      if (messages.get(keyOf(worker, attempt)) === message) store(message.decision);
    }
  };
  const store = (decision: Decision) => {
    const messageId = `${keyOf(decision.worker, decision.attempt)}:decision`;
    context.log.send(subject(context, `decision.${decision.worker}`), encodeDecision(decision), { messageId });
  };
  const isOurs = ({ owner }: OutboxMessage) => owner === null || owner === context.replica;

  return {
    get size() {
      return messages.size;
    },
    put(decision, owner, inbox, everyone) {
      const message: OutboxMessage = { decision, owner, inbox, sinceMs: context.clock(), sentMs: 0 };
      messages.set(keyOf(decision.worker, decision.attempt), message);
      if (!context.atHead()) return;
      if (everyone || isOurs(message)) answerInbox(message);
      if (isOurs(message)) send(message);
    },
    published: (worker, attempt) => void messages.delete(keyOf(worker, attempt)),
    find: (worker, attempt) => messages.get(keyOf(worker, attempt))?.decision ?? null,
    open() {
      for (const message of [...messages.values()].filter(isOurs)) {
        answerInbox(message);
        send(message);
      }
    },
    overdueOwners(ageMs) {
      const before = context.clock() - ageMs;
      return new Set(
        [...messages.values()].filter((it) => it.sinceMs <= before && !isOurs(it)).map(({ owner }) => owner),
      );
    },
    sendFor(owner) {
      for (const message of [...messages.values()].filter((it) => it.owner === owner)) {
        answerInbox(message);
        send(message);
      }
    },
    resend() {
      if (!context.bus.isConnected()) return;
      const before = context.clock() - resendMs;
      for (const message of messages.values()) if (message.sentMs > 0 && message.sentMs < before) send(message);
    },
  };
}
