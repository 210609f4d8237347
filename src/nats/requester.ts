/** A client of the service over NATS: sends requests, and publishes and reads entries. */
import { type NatsConnection, RequestError, TimeoutError } from '@nats-io/nats-core';
import { payloadBytesMax } from '../../machines/values/limits.ts';
import { AppError, readErrorBody } from '../errors.ts';
import { timerMsMax } from '../timer.ts';
import { type ConnectionOptions, isForbidden, notPermitted, openConnection } from './connection.ts';
import type { LogClient } from './log/log-client.ts';
import type { FoldStart } from './snapshots/find-start.ts';

export type RequestVerb =
  | 'decide'
  | 'probe'
  | 'verify'
  | 'verify-task'
  | 'claim-next'
  | 'evaluate'
  | 'get'
  | 'list'
  | 'snapshot';

export type Requests = {
  /**
   * Requests `stopgate.<fleet>.<verb>.<tail>` and returns the parsed reply.
   * @throws AppError the error in the reply; service.unreachable if there is no responder or no reply in time
   */
  request(verb: RequestVerb, tail: string, body: object, timeoutMs: number): Promise<unknown>;
  /** Resolves when the connection is closed, by us or because the library gave up. */
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
};
export type Requester = Requests &
  LogClient & {
    /** Name of the NATS server, or ''. */
    readonly serverName: string;
    /** See `loadStart` in snapshots/snapshots.ts. */
    loadStart(beforeMs?: number): Promise<FoldStart | null>;
  };
export type RequesterOptions = Omit<ConnectionOptions, 'patient'> & { readonly fleet: string };

/** Opens a connection for one command. Loads JetStream on first use, because most commands only send requests. */
export async function openRequester(options: RequesterOptions): Promise<Requester> {
  const nc = await openConnection({ ...options, patient: false });
  let opened: Promise<LogClient> | undefined;
  const log = () => {
    opened ??= import('./log/log-client.ts').then(({ createLogClient }) => createLogClient(nc, options.fleet));
    return opened;
  };
  return {
    ...createRequests(nc, options.fleet),
    serverName: nc.info?.server_name ?? '',
    publish: async (...entry) => (await log()).publish(...entry),
    follow: async (...follow) => (await log()).follow(...follow),
    read: async (...tail) => (await log()).read(...tail),
    readNewest: async (...newest) => (await log()).readNewest(...newest),
    readDeadLetters: async (...newest) => (await log()).readDeadLetters(...newest),
    async loadStart(beforeMs) {
      const { loadStart } = await import('./snapshots/snapshots.ts');
      return loadStart(nc, options.fleet, beforeMs);
    },
  };
}

export function createRequests(nc: NatsConnection, fleet: string): Requests {
  return {
    request: (verb, tail, body, timeoutMs) => request(nc, `stopgate.${fleet}.${verb}.${tail}`, body, timeoutMs),
    closed: nc.closed(),
    close: () => nc.close(),
  };
}

/** Tells whether the request was sent but the reply did not arrive, so that it may have taken effect. */
export const isAnswerLost = ({ code, cause }: AppError): boolean =>
  code === 'service.unreachable' && cause !== undefined && !(cause instanceof RequestError && cause.isNoResponders());

async function request(nc: NatsConnection, subject: string, body: object, timeoutMs: number): Promise<unknown> {
  const payload = JSON.stringify(body);
  const bytes = Buffer.byteLength(payload);
  // The service would answer the same, but a server refuses far larger messages, and the library names no limit.
  if (bytes > payloadBytesMax)
    throw new AppError('entry.large', `the request has ${bytes} bytes; the limit is ${payloadBytesMax}`);
  try {
    const reply = await nc.request(subject, payload, { timeout: Math.min(timeoutMs, timerMsMax) });
    const status = Number(reply.headers?.get('Nats-Service-Error-Code') ?? '');
    if (status > 0) throw readErrorBody(reply.json(), status);
    return reply.json();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    if (isForbidden(cause)) throw notPermitted(`request '${subject}'`, cause);
    const isUnserved = cause instanceof RequestError && cause.isNoResponders();
    const what = `the request '${subject}'`;
    const message = isUnserved
      ? `no stopgate service serves fleet '${subject.split('.')[1]}' on this NATS server; start one with "stopgate serve" or "stopgate dev", or choose another with --fleet`
      : cause instanceof TimeoutError
        ? `no answer within ${timeoutMs} ms to ${what}`
        : `${what} failed: ${(cause as Error).message}`;
    throw new AppError('service.unreachable', message, { cause });
  }
}
