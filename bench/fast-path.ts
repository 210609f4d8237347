/** The fast path: publishes an attempt directly to the log, with an inbox for the answer (protocol.md §2). */
import { createInbox, headers, type NatsConnection } from '@nats-io/nats-core';

/** @returns a function that resolves with the answer */
export function createFastPath(nc: NatsConnection): (subject: string, worker: string) => Promise<unknown> {
  const inbox = createInbox();
  const waiting = new Map<string, (answer: unknown) => void>();
  nc.subscribe(`${inbox}.*`, {
    callback: (_error, message) => {
      const token = message.subject.slice(inbox.length + 1);
      waiting.get(token)?.(message);
      waiting.delete(token);
    },
  });
  let count = 0;
  return (subject, worker) =>
    new Promise((resolve) => {
      count += 1;
      const attempt = `s${count}`;
      waiting.set(attempt, resolve);
      const attemptHeaders = headers();
      attemptHeaders.set('Stopgate-Reply', `${inbox}.${attempt}`);
      attemptHeaders.set('Nats-Msg-Id', `${worker}:${attempt}`);
      nc.publish(subject, JSON.stringify({ attempt, output: 'done' }), { headers: attemptHeaders });
    });
}
