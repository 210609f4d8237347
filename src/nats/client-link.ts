/** A client that stays connected: requests, the log, attempts by the fast path, decisions and checks. */
import { AppError } from '../errors.ts';
import { type CheckServer, openCheckServer } from './check-server.ts';
import { flushInTime, openConnection, subscribe } from './connection.ts';
import { createFastPath, type FastAttempt, type FastPath } from './fast-path.ts';
import { createLogClient, type LogClient } from './log/log-client.ts';
import { createRequests, type RequesterOptions, type Requests } from './requester.ts';

export type ClientLink = Requests &
  LogClient & {
    /** @throws AppError service.unreachable: the connection is closed */
    attempt(...attempt: Parameters<FastPath['attempt']>): Promise<FastAttempt>;
    /** Gives every decision, or one worker's, from the moment it resolves. */
    subscribe(worker: string | null, onDecision: (text: string) => void): Promise<{ close(): void }>;
    /** @throws AppError input.unauthorized */
    serveCheck(name: string, answer: (text: string) => Promise<string>): Promise<CheckServer>;
  };

/** Reconnects without end when the server goes away. */
export async function openClientLink(options: RequesterOptions): Promise<ClientLink> {
  const nc = await openConnection({ ...options, patient: true });
  const root = `stopgate.${options.fleet}`;
  const fastPath = createFastPath(nc, root);
  const listen = async (subject: string, onText: (text: string) => void) => {
    const subscription = subscribe(nc, subject, (error, message) => {
      if (error === null) onText(message.string());
    });
    await flushInTime(nc);
    return { close: () => subscription.unsubscribe() };
  };
  return {
    ...createRequests(nc, options.fleet),
    ...createLogClient(nc, options.fleet),
    attempt: (...attempt) => reach(async () => fastPath.attempt(...attempt)),
    subscribe: (worker, onDecision) => reach(() => listen(`${root}.decision.${worker ?? '*'}`, onDecision)),
    serveCheck: (name, answer) => reach(() => openCheckServer(nc, `${root}.check.${name}`, answer)),
  };
}

/** Turns the error of a connection that is closed, or whose server refuses, into ours. */
async function reach<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('service.unreachable', (cause as Error).message, { cause });
  }
}
