/** Answers `stopgate.<fleet>.check.<name>` in the queue group that all servers of a check share (protocol 2 and 8). */
import { headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { AppError, errorBody } from '../errors.ts';
import { flushInTime, inTime } from './in-time.ts';

export type CheckServer = {
  /** Takes no more questions, and resolves when those that it took are answered. */
  close(): Promise<void>;
};

const group = 'stopgate-check';
const errorCode = '500';
const drainMs = 2_000;

/**
 * `answer` gives the reply's text; what it throws is sent as an error with its words, which the service takes as an
 * error of the check. Resolves once the server has taken the subscription.
 * @throws AppError input.unauthorized: this connection may not serve it; service.unreachable
 */
export async function openCheckServer(
  nc: NatsConnection,
  subject: string,
  answer: (text: string) => Promise<string>,
): Promise<CheckServer> {
  const open = new Set<Promise<void>>();
  let refusal: Error | null = null;
  const subscription = nc.subscribe(subject, {
    queue: group,
    callback: (error, message) => {
      if (error !== null) {
        refusal = error;
        return;
      }
      const answering = respond(message, answer).finally(() => open.delete(answering));
      open.add(answering);
    },
  });
  await flushInTime(nc);
  if (refusal !== null) {
    throw new AppError(
      'input.unauthorized',
      `this connection may not serve '${subject}': connect with the credentials of a check server`,
      { cause: refusal },
    );
  }
  return {
    async close() {
      // A server that is gone acknowledges nothing, and asks nothing either.
      await inTime(subscription.drain(), drainMs).catch(() => {});
      await Promise.all(open);
      await flushInTime(nc).catch(() => {});
    },
  };
}

async function respond(message: Msg, answer: (text: string) => Promise<string>): Promise<void> {
  try {
    message.respond(await answer(message.string()));
  } catch (cause) {
    const words = wordsOf(cause);
    const h = headers();
    h.set('Nats-Service-Error-Code', errorCode);
    h.set('Nats-Service-Error', words.replace(/\s*[\r\n]\s*/g, ' ').slice(0, 500)); // a header is one line
    try {
      message.respond(JSON.stringify(errorBody(new AppError('check.failed', words))), { headers: h });
    } catch {
      // The connection is closed: the service has no answer, and says so.
    }
  }
}

/** Anything may be thrown, and an error may have no words. */
function wordsOf(cause: unknown): string {
  const words = cause instanceof Error ? cause.message || cause.name : String(cause);
  return words.trim() === '' ? 'unknown error' : words;
}
