/**
 * The fast path of protocol.md §2: the client publishes an attempt straight into the log, with an inbox in the header
 * `Stopgate-Reply`, and the first replica to fold it replies there. That saves one hop compared to a request.
 */
import { headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { attemptMessageId } from '../../machines/entries/message-ids.ts';
import { startTimer, type Timer } from '../timer.ts';
import { newInbox, subscribe } from './connection.ts';
import { newId } from './id.ts';

export type FastAttempt = {
  /** Resolves to the text of the decision. May never settle. */
  readonly answer: Promise<string>;
  /**
   * Resolves if a request is needed: the attempt was not newly stored (no log, or a duplicate), or no reply arrived.
   */
  readonly unanswered: Promise<void>;
  close(): void;
};
export type FastPath = {
  /** @param patienceMs how long to wait before `unanswered` resolves. @throws if the connection is closed */
  attempt(worker: string, attempt: string, body: object, patienceMs: number): FastAttempt;
};

/** @param root `stopgate.<fleet>` */
export function createFastPath(nc: NatsConnection, root: string): FastPath {
  const waiting = new Map<string, (message: Msg) => void>();
  let inbox: string | null = null;
  const openInbox = () => {
    const subject = newInbox(nc);
    subscribe(nc, `${subject}.*.*`, (error, message) => {
      if (error === null) waiting.get(message.subject.slice(subject.length + 1))?.(message);
    });
    return subject;
  };
  return {
    attempt(worker, attempt, body, patienceMs) {
      inbox ??= openInbox();
      const subject = inbox;
      // Agents that share an account can read each other's inboxes, so the next reply subject must be unpredictable.
      const token = newId();
      const answered = `${token}.answer`;
      const stored = `${token}.stored`;
      const answer = new Promise<string>((resolve) => {
        waiting.set(answered, (message) => resolve(message.string()));
      });
      let timer: Timer | undefined;
      const unanswered = new Promise<void>((resolve) => {
        timer = startTimer(patienceMs, resolve);
        waiting.set(stored, (message) => {
          if (!isNewlyStored(message)) resolve();
        });
      });
      const h = headers();
      h.set('Stopgate-Reply', `${subject}.${answered}`);
      h.set('Nats-Msg-Id', attemptMessageId(worker, attempt));
      // Nothing waits for the acknowledgement. A refusal only tells us early that there will be no reply.
      nc.publish(`${root}.worker.${worker}.stop.attempted`, JSON.stringify(body), {
        headers: h,
        reply: `${subject}.${stored}`,
      });
      return {
        answer,
        unanswered,
        close() {
          timer?.clear();
          waiting.delete(answered);
          waiting.delete(stored);
        },
      };
    },
  };
}

/**
 * Returns false if there is no stream (an empty status message), the stream refused the attempt, or it is a duplicate.
 */
function isNewlyStored(message: Msg): boolean {
  try {
    const { seq, duplicate = false } = message.json<{ seq?: number; duplicate?: boolean }>();
    return seq !== undefined && !duplicate;
  } catch {
    return false;
  }
}
