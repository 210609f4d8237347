/** A long-lived client connection: requests, the log, fast-path attempts, decisions and checks. */
import { AppError } from '../errors.ts';
import { type CheckServer, openCheckServer } from './check-server.ts';
import { flushInTime, notPermitted, openConnection, subscribe } from './connection.ts';
import { createFastPath, type FastAttempt, type FastPath } from './fast-path.ts';
import { createLogClient, type LogClient } from './log/log-client.ts';
import { createRequests, type RequesterOptions, type Requests } from './requester.ts';

export type ClientLink = Requests &
  LogClient & {
    /** @throws AppError service.unreachable if the connection is closed */
    attempt(...attempt: Parameters<FastPath['attempt']>): Promise<FastAttempt>;
    /** Subscribes to the decisions of one worker, or of all with null. Active once the promise resolves. */
    subscribe(worker: string | null, onDecision: (text: string) => void): Promise<{ close(): void }>;
    /** @throws AppError input.unauthorized */
    serveCheck(name: string, answer: (text: string) => Promise<string>): Promise<CheckServer>;
  };

/** Opens a connection that reconnects indefinitely. */
export async function openClientLink(options: RequesterOptions): Promise<ClientLink> {
  const nc = await openConnection({ ...options, patient: true });
  const root = `stopgate.${options.fleet}`;
  const fastPath = createFastPath(nc, root);
  const listen = async (subject: string, onText: (text: string) => void) => {
    let refusal: Error | null = null;
    const subscription = subscribe(nc, subject, (error, message) => {
      if (error === null) onText(message.string());
      else refusal = error;
    });
    await flushInTime(nc);
    if (refusal !== null) throw notPermitted(`subscribe to '${subject}'`, refusal);
    return { close: () => subscription.unsubscribe() };
  };
  return {
    ...createRequests(nc, options.fleet),
    ...createLogClient(nc, options.fleet),
    attempt: (...attempt) => orUnreachable(async () => fastPath.attempt(...attempt)),
    subscribe: (worker, onDecision) => orUnreachable(() => listen(`${root}.decision.${worker ?? '*'}`, onDecision)),
    serveCheck: (name, answer) => orUnreachable(() => openCheckServer(nc, `${root}.check.${name}`, answer)),
  };
}

/** Wraps NATS errors, for example of a closed connection, in an AppError. */
async function orUnreachable<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('service.unreachable', (cause as Error).message, { cause });
  }
}
