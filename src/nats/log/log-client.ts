/** A client's access to a fleet's log: publishes entries and reads stored ones. */
import { type JetStreamClient, jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection, RequestError } from '@nats-io/nats-core';
import { AppError } from '../../errors.ts';
import { isForbidden, otherRoleHint, rejectOnPermissionViolation } from '../connection.ts';
import { type LogRange, openLogRange, readNewest } from './log-range.ts';
import { type LogMessage, readLog } from './log-reader.ts';
import { deadName, logName } from './stream-info.ts';

export type LogClient = {
  /**
   * Publishes an entry on `stopgate.<fleet>.<tail>` and waits for the acknowledgement.
   * @param id message id for deduplication
   * @throws AppError input.unauthorized if the server denies the subject; service.unreachable, log.unavailable
   */
  publish(tail: string, data: object, id?: string): Promise<{ seq: number; duplicate: boolean }>;
  /** Delivers the newest `last` messages and then new ones, until `signal` is aborted. */
  follow(options: { last: number; signal: AbortSignal }, onMessage: (message: LogMessage) => void): Promise<void>;
  /**
   * Reads the log from its beginning to its current end.
   * @param tail limits it to the subject `stopgate.<fleet>.<tail>`
   * @throws AppError actor.unknown if the fleet has no log; log.unavailable
   */
  read(tail?: string): Promise<LogRange>;
  /** The newest `count` messages on `stopgate.<fleet>.<tail>`, oldest first. @throws AppError as `read` does */
  readNewest(tail: string, count: number): Promise<LogMessage[]>;
  /**
   * The newest `count` dead letters on `stopgate.<fleet>.dead.<tail>`, oldest first.
   * @throws AppError as `read` does
   */
  readDeadLetters(tail: string, count: number): Promise<LogMessage[]>;
};

export function createLogClient(nc: NatsConnection, fleet: string): LogClient {
  const js = jetstream(nc);
  const root = `stopgate.${fleet}`;
  const stream = logName(fleet);
  return {
    publish: (tail, data, id) => append(js, `${root}.${tail}`, data, id),
    follow: (options, onMessage) =>
      Promise.race([readLog(nc, stream, options, onMessage), rejectOnPermissionViolation(nc, operatorHint)]),
    read: (tail) => openLogRange(nc, stream, tail === undefined ? {} : { subject: `${root}.${tail}` }),
    readNewest: (tail, count) => readNewest(nc, stream, `${root}.${tail}`, count),
    readDeadLetters: (tail, count) => readNewest(nc, deadName(fleet), `${root}.dead.${tail}`, count),
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
    const { cause: reason, message } = cause as Error;
    const fleet = subject.split('.')[1];
    // nats.js says "jetstream is not enabled" if no stream has the subject.
    const why =
      reason instanceof RequestError && reason.isNoResponders()
        ? `no log of fleet '${fleet}' answers on this NATS server: no service has served it yet, or its stream has no leader now`
        : message;
    throw new AppError('log.unavailable', `'${subject}' was not stored: ${why}`, { cause });
  }
}

export const operatorHint =
  'name an operator\'s credentials with --creds (the command finds those of "stopgate dev" in its folder)';

const describeForbidden = (subject: string): string =>
  `the NATS server does not let us publish '${subject}': ${subject.split('.')[2] === 'own' ? operatorHint : otherRoleHint}`;
