/** The log of a fleet for a client: publishes entries, and reads stored ones. */
import { type JetStreamClient, jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection, PermissionViolationError } from '@nats-io/nats-core';
import { AppError } from '../../errors.ts';
import { rejectForbidden } from '../connection.ts';
import { type LogRange, openLogRange, readNewest } from './log-range.ts';
import { type LogMessage, readLog } from './log-reader.ts';

export type LogClient = {
  /**
   * Publishes into the log and gives its sequence number.
   * @throws AppError input.unauthorized: the server does not let us; service.unreachable, log.unavailable
   */
  publish(tail: string, data: object, id?: string): Promise<{ seq: number; duplicate: boolean }>;
  /** Follows the fleet's log from its newest `last` messages on, until `signal` fires. */
  follow(options: { last: number; signal: AbortSignal }, onMessage: (message: LogMessage) => void): Promise<void>;
  /**
   * The fleet's log from its start to its head as it is now.
   * @param tail only what matches `stopgate.<fleet>.<tail>`
   * @throws AppError actor.unknown: it has none; log.unavailable
   */
  read(tail?: string): Promise<LogRange>;
  /** Its newest `count` messages on `stopgate.<fleet>.<tail>`, oldest first. @throws AppError as `read` does */
  readNewest(tail: string, count: number): Promise<LogMessage[]>;
};

export function createLogClient(nc: NatsConnection, fleet: string): LogClient {
  const js = jetstream(nc);
  const root = `stopgate.${fleet}`;
  const stream = `STOPGATE_${fleet}`;
  return {
    publish: (tail, data, id) => append(js, `${root}.${tail}`, data, id),
    follow: (how, onMessage) => Promise.race([readLog(nc, stream, how, onMessage), rejectForbidden(nc, operatorHint)]),
    read: (tail) => openLogRange(nc, stream, tail === undefined ? {} : { subject: `${root}.${tail}` }),
    readNewest: (tail, count) => readNewest(nc, stream, `${root}.${tail}`, count),
  };
}

async function append(js: JetStreamClient, subject: string, data: object, id: string | undefined) {
  const h = headers();
  if (id !== undefined) h.set('Nats-Msg-Id', id);
  try {
    const { seq, duplicate } = await js.publish(subject, JSON.stringify(data), { headers: h, timeout: 5_000 });
    return { seq, duplicate };
  } catch (cause) {
    if (isForbidden(cause)) throw new AppError('input.unauthorized', describeForbidden(subject), { cause });
    throw new AppError('log.unavailable', `'${subject}' was not stored: ${(cause as Error).message}`, { cause });
  }
}

/** The server's permissions do not let this connection publish. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof PermissionViolationError || (error as Error).cause instanceof PermissionViolationError;

export const operatorHint =
  'name an operator\'s credentials with --creds (those of "stopgate dev" are found in its folder)';

const describeForbidden = (subject: string): string =>
  `the NATS server does not let us publish '${subject}'${subject.split('.')[2] === 'own' ? `: ${operatorHint}` : ''}`;
