/** The process of the embedded server: notices its end, also one by SIGKILL or for lack of memory, and starts it again. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../log.ts';

/** `lastLines`: the end of the server's own log, for an error message. */
export type ServerExit = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly lastLines: string;
};

export type Running = {
  readonly child: ChildProcess;
  readonly port: number;
  readonly closed: Promise<ServerExit>;
  /** It has logged a full disk, or a broken one. */
  hasFailedToWrite(): boolean;
};

type Supervised = Pick<Running, 'hasFailedToWrite'> & {
  /** Resolves when the server is gone for good: after `close`, or where it does not get ready any more. Never rejects. */
  readonly closed: Promise<ServerExit>;
  /** Ends it and starts it again. @throws AppError it does not start; it may be tried again */
  restart(): Promise<void>;
  close(): Promise<void>;
};

const stopTimeoutMs = 3_000;

/** The last one is repeated. A server that lacks memory needs its clients to pause, too. */
const pausesMsDefault = [100, 500, 1_000, 2_000, 5_000, 10_000];
/** In a row, of a server that is not ready: some three minutes. One that was ready is always started again. */
const startsMaxDefault = 24;
/** One that has lived for so long has recovered: the next pause is the first. */
const recoveredMs = 60_000;

export type SuperviseOptions = {
  readonly log: Logger;
  /** Default: up to 10 s. */
  readonly pausesMs?: readonly number[] | undefined;
  readonly startsMax?: number | undefined;
};

export function superviseServer(
  first: Running,
  start: () => Promise<Running>,
  { log, pausesMs = pausesMsDefault, startsMax = startsMaxDefault }: SuperviseOptions,
): Supervised {
  let running = first;
  let replaced: Running | null = null;
  let restarting: Promise<void> = Promise.resolve();
  let endsInARow = 0;
  const closing = new AbortController();
  let onClosed: (exit: ServerExit) => void;
  const closed = new Promise<ServerExit>((resolve) => {
    onClosed = resolve;
  });
  const follow = (started: Running) => {
    running = started;
    const sinceMs = performance.now();
    void started.closed.then((exit) => {
      if (started === replaced || closing.signal.aborted) return;
      if (performance.now() - sinceMs >= recoveredMs) endsInARow = 0;
      log.error({ code: exit.code, signal: exit.signal }, 'nats-server has ended by itself; starting it again');
      restarting = restarting.catch(() => {}).then(() => startAgain(exit));
    });
  };
  const startAgain = async (exit: ServerExit) => {
    for (let starts = 1; starts <= startsMax; starts += 1) {
      const pauseMs = pausesMs[Math.min(endsInARow, pausesMs.length - 1)];
      endsInARow += 1;
      await delay(pauseMs, null, { signal: closing.signal }).catch(() => {});
      if (closing.signal.aborted) return;
      try {
        follow(await start());
        return;
      } catch (error) {
        log.error({ error: (error as Error).message, starts }, 'nats-server does not start again');
      }
    }
    onClosed(exit);
  };
  const restart = async () => {
    replaced = running;
    await end(running.child);
    if (!closing.signal.aborted) follow(await start());
  };
  follow(first);
  return {
    closed,
    hasFailedToWrite: () => running.hasFailedToWrite(),
    restart() {
      restarting = restarting.catch(() => {}).then(restart);
      return restarting;
    },
    async close() {
      closing.abort();
      await restarting.catch(() => {});
      await end(running.child);
      onClosed(await running.closed);
    },
  };
}

/** SIGTERM, then SIGKILL after 3 s. Resolves when the process is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  const impatient = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  child.kill('SIGTERM');
  await gone;
  clearTimeout(impatient);
}

/**
 * The name of an embedded NATS server, which it tells every client: the folder whose stopgate.yaml its service follows.
 * A command that finds a server at the default address can tell by it whether that is the one that is meant.
 */
const prefix = 'stopgate:';

/** A server's name must not contain spaces. */
export const nameServer = (folder: string): string => `${prefix}${encodeURI(folder)}`;

/** Returns null if stopgate did not start that server. */
export function folderOfServer(name: string): string | null {
  if (!name.startsWith(prefix)) return null;
  try {
    return decodeURI(name.slice(prefix.length));
  } catch {
    return null;
  }
}
