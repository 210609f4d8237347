/**
 * The fast path of protocol.md §2: an attempt goes straight into the log, with an inbox in its header `Stopgate-Reply`,
 * and the replica that folds it first answers there. That takes one hop less than a request.
 */
import { headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { attemptMessageId } from '../../machines/entries/message-ids.ts';
import { startTimer, type Timer } from '../timer.ts';
import { newInbox, subscribe } from './connection.ts';
import { newId } from './id.ts';

export type FastAttempt = {
  /** The text of the decision, if it comes. */
  readonly answer: Promise<string>;
  /** A request is needed: the log did not take the attempt (no log, or it has this id already), or nothing came. */
  readonly unanswered: Promise<void>;
  close(): void;
};
export type FastPath = {
  /** Throws if the connection is closed. */
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
      // Agents that share an account hear each other's inboxes; what comes there next must not be foreseen.
      const token = newId();
      const [answered, stored] = [`${token}.answer`, `${token}.stored`];
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
      // Nobody waits for the acknowledgement; a refusal only says early that there will be no answer.
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

/** Returns false if nobody listens (a status without a body), the log refused it, or it had that id before. */
function isNewlyStored(message: Msg): boolean {
  try {
    const { seq, duplicate = false } = message.json<{ seq?: number; duplicate?: boolean }>();
    return seq !== undefined && !duplicate;
  } catch {
    return false;
  }
}
