/** A client of the service: requests and publishes over NATS, as any other client could. */
import { type JetStreamClient, jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection, PermissionViolationError, RequestError, TimeoutError } from '@nats-io/nats-core';
import { AppError, fromErrorBody } from '../errors.ts';
import { type CheckServer, openCheckServer } from './check-server.ts';
import { type ConnectionOptions, openConnection } from './connection.ts';
import { createFastPath, type FastAttempt, type FastPath } from './fast-path.ts';
import { flushInTime } from './in-time.ts';
import { type LogRange, openLogRange, readNewest } from './log-range.ts';
import { type LogMessage, readLog } from './log-reader.ts';

export type RequestVerb = 'decide' | 'probe' | 'verify' | 'evaluate' | 'get' | 'list';

export type Requester = {
  /**
   * Asks `stopgate.<fleet>.<verb>.<tail>` and gives the parsed reply.
   * @throws AppError the service's own error, or service.unreachable: nobody serves, or no answer in time
   */
  request(verb: RequestVerb, tail: string, body: object, timeoutMs: number): Promise<unknown>;
  /**
   * Publishes into the log and gives its sequence number.
   * @throws AppError input.unauthorized: the server does not let us; service.unreachable, log.unavailable
   */
  publish(tail: string, data: object, id?: string): Promise<{ seq: number; duplicate: boolean }>;
  /** Follows the fleet's log from `fromSeq` on (0: from the newest `last` messages), until `signal` fires. */
  follow(options: { last: number; signal: AbortSignal }, onMessage: (message: LogMessage) => void): Promise<void>;
  /** Resolves when the connection is closed, by us or for good. */
  readonly closed: Promise<unknown>;
  /** The fleet's log from its start to its head as it is now. @throws AppError actor.unknown: it has none; log.unavailable */
  read(): Promise<LogRange>;
  /** Its newest `count` messages on `stopgate.<fleet>.<tail>`, oldest first. @throws AppError as `read` does */
  readNewest(tail: string, count: number): Promise<LogMessage[]>;
  close(): Promise<void>;
};

type RequesterOptions = Omit<ConnectionOptions, 'patient'> & { readonly fleet: string };

export async function openRequester(options: RequesterOptions): Promise<Requester> {
  return createRequester(await openConnection({ ...options, patient: false }), options.fleet);
}

/** What a program that stays connected does beside requests. */
export type ClientLink = Requester & {
  /** @throws AppError service.unreachable: the connection is closed */
  attempt(...attempt: Parameters<FastPath['attempt']>): Promise<FastAttempt>;
  /** Hears every decision, or one worker's, from the moment it resolves. */
  hear(worker: string | null, onDecision: (text: string) => void): Promise<{ close(): void }>;
  /** @throws AppError input.unauthorized */
  serveCheck(name: string, answer: (text: string) => Promise<string>): Promise<CheckServer>;
};

/** It connects again, for ever, where the server goes away. */
export async function openClientLink(options: RequesterOptions): Promise<ClientLink> {
  const nc = await openConnection({ ...options, patient: true });
  const root = `stopgate.${options.fleet}`;
  const fastPath = createFastPath(nc, root);
  const hear = async (subject: string, onText: (text: string) => void) => {
    const subscription = nc.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) onText(message.string());
      },
    });
    await flushInTime(nc);
    return { close: () => subscription.unsubscribe() };
  };
  return {
    ...createRequester(nc, options.fleet),
    attempt: (...attempt) => reach(async () => fastPath.attempt(...attempt)),
    hear: (worker, onDecision) => reach(() => hear(`${root}.decision.${worker ?? '*'}`, onDecision)),
    serveCheck: (name, answer) => reach(() => openCheckServer(nc, `${root}.check.${name}`, answer)),
  };
}

/** A connection that is closed, or whose server refuses. */
async function reach<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('service.unreachable', (cause as Error).message, { cause });
  }
}

function createRequester(nc: NatsConnection, fleet: string): Requester {
  const js = jetstream(nc);
  const root = `stopgate.${fleet}`;
  const stream = `STOPGATE_${fleet}`;
  return {
    request: (verb, tail, body, timeoutMs) => ask(nc, `${root}.${verb}.${tail}`, body, timeoutMs),
    publish: (tail, data, id) => append(js, `${root}.${tail}`, data, id),
    closed: nc.closed(),
    follow: (how, onMessage) => readLog(nc, stream, how, onMessage),
    read: () => openLogRange(nc, stream),
    readNewest: (tail, count) => readNewest(nc, stream, `${root}.${tail}`, count),
    close: () => nc.close(),
  };
}

async function ask(nc: NatsConnection, subject: string, body: object, timeoutMs: number): Promise<unknown> {
  try {
    const reply = await nc.request(subject, JSON.stringify(body), { timeout: timeoutMs });
    const status = Number(reply.headers?.get('Nats-Service-Error-Code') ?? '');
    if (status > 0) throw fromErrorBody(reply.json(), status);
    return reply.json();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const noOne = cause instanceof RequestError && cause.isNoResponders();
    const why = noOne
      ? `no stopgate service serves fleet '${subject.split('.')[1]}' on this NATS server; start one with "stopgate serve" or "stopgate dev", or choose another by --fleet`
      : cause instanceof TimeoutError
        ? `no answer within ${timeoutMs} ms`
        : (cause as Error).message;
    throw new AppError('service.unreachable', `'${subject}': ${why}`, { cause });
  }
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

const isForbidden = (error: unknown): boolean =>
  error instanceof PermissionViolationError || (error as Error).cause instanceof PermissionViolationError;

function describeForbidden(subject: string): string {
  const hint = 'name an operator\'s credentials with --creds (those of "stopgate dev" are found in its folder)';
  return `the NATS server does not let us publish '${subject}'${subject.split('.')[2] === 'own' ? `: ${hint}` : ''}`;
}
