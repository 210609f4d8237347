/** Supervises the process of the embedded server: restarts it after a crash, SIGKILL or the OOM killer. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../log.ts';

/** `lastLines`: the end of the server's log, for an error message. */
export type ServerExit = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly lastLines: string;
};

export type Running = {
  readonly child: ChildProcess;
  readonly port: number;
  readonly closed: Promise<ServerExit>;
  /** Whether the server has logged a write error, such as a full disk. */
  hasFailedToWrite(): boolean;
};

type Supervised = Pick<Running, 'hasFailedToWrite'> & {
  /** Resolves when the server is stopped for good: after `close`, or after `startsMax` failed starts. Never rejects. */
  readonly closed: Promise<ServerExit>;
  /** Restarts the server. @throws AppError if it does not start; the caller may retry */
  restart(): Promise<void>;
  close(): Promise<void>;
};

const stopTimeoutMs = 3_000;

/** Pauses before successive restarts. The last one repeats, so that a server short of memory can recover. */
const pausesMsDefault = [100, 500, 1_000, 2_000, 5_000, 10_000];
/**
 * Maximum number of failed starts in a row, about three minutes. A server that was ready before it crashed is always
 * restarted.
 */
const startsMaxDefault = 24;
/** After running for this long, a server counts as recovered, and the pauses start over. */
const recoveredMs = 60_000;

export type SuperviseOptions = {
  readonly log: Logger;
  /** Default: 100 ms, growing to 10 s. */
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
      log.error({ code: exit.code, signal: exit.signal }, 'nats-server exited unexpectedly; restarting it');
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
        log.error({ error: (error as Error).message, starts }, 'restarting nats-server failed');
      }
    }
    onClosed(exit);
  };
  const restart = async () => {
    replaced = running;
    await stopProcess(running.child);
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
      await stopProcess(running.child);
      onClosed(await running.closed);
    },
  };
}

/** Sends SIGTERM, then SIGKILL after 3 s. Resolves when the process is gone. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  const impatient = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  child.kill('SIGTERM');
  await gone;
  clearTimeout(impatient);
}

/**
 * The name of an embedded server contains the folder whose stopgate.yaml its service uses. Every client learns the
 * name, so a command can check that the server at the default address belongs to the right folder.
 */
const prefix = 'stopgate:';

/** Encodes the folder, because a server name must not contain spaces. */
export const serverNameOf = (folder: string): string => `${prefix}${encodeURI(folder)}`;

/** The inverse of `serverNameOf`. Returns null if stopgate did not start that server. */
export function folderOfServer(name: string): string | null {
  if (!name.startsWith(prefix)) return null;
  try {
    return decodeURI(name.slice(prefix.length));
  } catch {
    return null;
  }
}
