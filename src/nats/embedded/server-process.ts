/** The process of the embedded server: notices its end, and starts it again. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

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

export type Supervised = Pick<Running, 'hasFailedToWrite'> & {
  /** Resolves when the server is gone, but not when another start takes its place. Never rejects. */
  readonly closed: Promise<ServerExit>;
  /** Ends it and starts it again. @throws AppError it does not start; it may be tried again */
  restart(): Promise<void>;
  close(): Promise<void>;
};

const stopTimeoutMs = 3_000;

export function superviseServer(first: Running, start: () => Promise<Running>): Supervised {
  let running = first;
  let replaced: Running | null = null;
  let restarting: Promise<void> = Promise.resolve();
  let isClosed = false;
  let onClosed: (exit: ServerExit) => void;
  const closed = new Promise<ServerExit>((resolve) => {
    onClosed = resolve;
  });
  const follow = (started: Running) => {
    running = started;
    void started.closed.then((exit) => started !== replaced && onClosed(exit));
  };
  const restart = async () => {
    replaced = running;
    await end(running.child);
    if (!isClosed) follow(await start());
  };
  follow(first);
  return {
    closed,
    hasFailedToWrite: () => running.hasFailedToWrite(),
    restart() {
      restarting = restart();
      return restarting;
    },
    async close() {
      isClosed = true;
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
