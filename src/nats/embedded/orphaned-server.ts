/** Stops the nats-server that a killed stopgate left running. */
import { readFile } from 'node:fs/promises';
import { AppError } from '../../errors.ts';
import { hasArguments, startTimeOf } from './process-identity.ts';

const endTimeoutMs = 3_000;
const pollEveryMs = 20; // it is not our child, so there is no exit event

/**
 * @param serverArgs arguments that identify a server of this store
 * @returns the pid of the stopped server, or undefined if none was running
 * @throws AppError config.bad if it does not stop
 */
export async function stopOrphanedServer(pidFile: string, serverArgs: readonly string[]): Promise<number | undefined> {
  const pid = Number(await readPidFile(pidFile));
  if (!Number.isInteger(pid) || pid <= 1 || !hasArguments(pid, serverArgs)) return undefined;
  const started = startTimeOf(pid);
  const isGone = () => startTimeOf(pid) !== started;
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    try {
      process.kill(pid, signal);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ESRCH') throw notEnded(pid, cause);
    }
    if (await becomesTrue(isGone, endTimeoutMs)) return pid;
  }
  throw notEnded(pid, undefined);
}

/** Returns '' if there is no such file. */
async function readPidFile(pidFile: string): Promise<string> {
  try {
    return await readFile(pidFile, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw cause;
  }
}

async function becomesTrue(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  for (const until = performance.now() + timeoutMs; performance.now() < until; ) {
    if (condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, pollEveryMs));
  }
  return condition();
}

const notEnded = (pid: number, cause: unknown) =>
  new AppError('config.bad', `an earlier nats-server (process ${pid}) still uses this store and cannot be stopped`, {
    cause,
  });
