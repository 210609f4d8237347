/**
 * Serves `stopgate.<fleet>.check.<name>`, in a queue group shared by all servers of the check (protocol.md §2 and §8).
 */
import { headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { AppError, errorBody } from '../errors.ts';
import { flushInTime, payloadBytesMaxOf, replySubjectOf, subscribe, withReplyTimeout } from './connection.ts';

export type CheckServer = {
  /** Stops receiving requests, and resolves when the open ones are answered. */
  close(): Promise<void>;
};

const group = 'stopgate-check';
const errorCode = '500';
const drainMs = 2_000;

/**
 * Resolves when the NATS server has accepted the subscription.
 * @param answer returns the reply's text. If it throws, the message is sent as an error, which the service treats as an
 *   error of the check
 * @throws AppError input.unauthorized if the connection may not serve the subject; service.unreachable
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
    const answering = respond(message, answer, payloadBytesMaxOf(nc)).finally(() => open.delete(answering));
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
      // If the server is gone, the drain gets no reply. No requests arrive either.
      await withReplyTimeout(subscription.drain(), drainMs).catch(() => {});
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
      // The connection is closed. The service reports a missing reply.
    }
  }
}

/**
 * Also emits a warning, because the check's author may never see the service's errors.
 * @throws AppError check.failed
 */
function refuseLarge(text: string, payloadMax: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= payloadMax) return;
  const problem = `the result has ${bytes} bytes, and the NATS server accepts at most ${payloadMax}: return a shorter one`;
  process.emitWarning(problem, 'StopgateWarning');
  throw new AppError('check.failed', problem);
}

/** Handles thrown values that are not errors, and empty messages. */
function messageOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message || cause.name : String(cause);
  return text.trim() === '' ? 'unknown error' : text;
}
