/** A client of the service: requests and publishes over NATS, as any other client could. */
import { type NatsConnection, RequestError, TimeoutError } from '@nats-io/nats-core';
import { AppError, fromErrorBody } from '../errors.ts';
import { timerMsMax } from '../timer.ts';
import { type ConnectionOptions, openConnection } from './connection.ts';
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
   * Requests `stopgate.<fleet>.<verb>.<tail>` and gives the parsed reply.
   * @throws AppError the service's own error, or service.unreachable: nobody serves, or no answer in time
   */
  request(verb: RequestVerb, tail: string, body: object, timeoutMs: number): Promise<unknown>;
  /** Resolves when the connection is closed, by us or for good. */
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
};
export type Requester = Requests &
  LogClient & {
    /** The name of the NATS server; '' if it gave none. */
    readonly serverName: string;
    /** As `loadStart` of `snapshots/snapshots.ts`, for the fleet. */
    loadStart(beforeMs?: number): Promise<FoldStart | null>;
  };
export type RequesterOptions = Omit<ConnectionOptions, 'patient'> & { readonly fleet: string };

/** For one command: what it needs of JetStream is loaded at its first use, since most commands only make requests. */
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

/** Was it asked, so that it may have happened, and only the answer did not come? */
export const isAnswerLost = ({ code, cause }: AppError): boolean =>
  code === 'service.unreachable' && cause !== undefined && !(cause instanceof RequestError && cause.isNoResponders());

async function request(nc: NatsConnection, subject: string, body: object, timeoutMs: number): Promise<unknown> {
  try {
    const reply = await nc.request(subject, JSON.stringify(body), { timeout: Math.min(timeoutMs, timerMsMax) });
    const status = Number(reply.headers?.get('Nats-Service-Error-Code') ?? '');
    if (status > 0) throw fromErrorBody(reply.json(), status);
    return reply.json();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const noOne = cause instanceof RequestError && cause.isNoResponders();
    const what = `the request '${subject}'`;
    const message = noOne
      ? `no stopgate service serves fleet '${subject.split('.')[1]}' on this NATS server; start one with "stopgate serve" or "stopgate dev", or choose another with --fleet`
      : cause instanceof TimeoutError
        ? `no answer within ${timeoutMs} ms to ${what}`
        : `${what} failed: ${(cause as Error).message}`;
    throw new AppError('service.unreachable', message, { cause });
  }
}
