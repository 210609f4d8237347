/** Answers `stopgate.<fleet>.check.<name>` in the queue group that all servers of a check share (protocol.md §2 and §8). */
import { headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { AppError, errorBody } from '../errors.ts';
import { answered, flushInTime, replySubjectOf, subscribe } from './connection.ts';

export type CheckServer = {
  /** Takes no more requests, and resolves when those that it has taken are answered. */
  close(): Promise<void>;
};

const group = 'stopgate-check';
const errorCode = '500';
const drainMs = 2_000;
/** The default of NATS. */
const payloadMaxDefault = 1_048_576;

/**
 * `answer` gives the text of the reply. What it throws is sent as an error with its message, which is an error of the
 * check for the service. Resolves once the NATS server has taken the subscription.
 * @throws AppError input.unauthorized: this connection may not serve it; service.unreachable
 */
export async function openCheckServer(
  nc: NatsConnection,
  subject: string,
  answer: (text: string) => Promise<string>,
): Promise<CheckServer> {
  const open = new Set<Promise<void>>();
  let refusal: Error | null = null;
  const onRequest = (error: Error | null, message: Msg) => {
    if (error !== null) {
      refusal = error;
      return;
    }
    if (replySubjectOf(message) === '') return;
    const answering = respond(message, answer, nc.info?.max_payload ?? payloadMaxDefault).finally(() =>
      open.delete(answering),
    );
    open.add(answering);
  };
  const subscription = subscribe(nc, subject, onRequest, group);
  await flushInTime(nc);
  if (refusal !== null) {
    throw new AppError(
      'input.unauthorized',
      `this connection may not serve '${subject}': connect with the credentials of a check server, check.json in .stopgate/credentials of the service's folder (checkCreds)`,
      { cause: refusal },
    );
  }
  return {
    async close() {
      // A server that is gone acknowledges nothing, and sends no requests either.
      await answered(subscription.drain(), drainMs).catch(() => {});
      await Promise.all(open);
      await flushInTime(nc).catch(() => {});
    },
  };
}

async function respond(message: Msg, answer: (text: string) => Promise<string>, payloadMax: number): Promise<void> {
  try {
    const text = await answer(message.string());
    refuseLarge(text, payloadMax);
    message.respond(text);
  } catch (cause) {
    const text = messageOf(cause);
    const h = headers();
    h.set('Nats-Service-Error-Code', errorCode);
    h.set('Nats-Service-Error', text.replace(/\s*[\r\n]\s*/g, ' ').slice(0, 500)); // a header is one line
    try {
      message.respond(JSON.stringify(errorBody(new AppError('check.failed', text))), { headers: h });
    } catch {
      // The connection is closed: the service gets no answer, and reports that.
    }
  }
}

/** Its author sees it too: at the service it is one error among others. @throws AppError check.failed */
function refuseLarge(text: string, payloadMax: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= payloadMax) return;
  const problem = `the result has ${bytes} bytes, and the NATS server takes ${payloadMax} at most: return a shorter one`;
  process.emitWarning(problem, 'StopgateWarning');
  throw new AppError('check.failed', problem);
}

/** Anything may be thrown, and the message of an error may be empty. */
function messageOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message || cause.name : String(cause);
  return text.trim() === '' ? 'unknown error' : text;
}
