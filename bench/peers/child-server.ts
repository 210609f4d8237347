/** Starts the servers and services of peers as separate processes. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '../../src/config/environment.ts';
import { endChild } from '../child.ts';
import { type PeerContext, PeerMissing } from './peer.ts';

const startMs = 30_000;
const retryMs = 100;
const stopMs = 5_000;

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Retries until the server answers. @throws PeerMissing if it exited or does not answer in time */
export async function waitFor(name: string, child: ChildProcess, tries: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + startMs;
  for (;;) {
    const why = await tries().then(
      () => null,
      (error: Error) => error,
    );
    if (why === null) return;
    if (child.exitCode !== null) throw new PeerMissing(`${name} ended with ${child.exitCode} at its start`);
    if (performance.now() > untilMs) throw new PeerMissing(`${name} did not start: ${why.message}`);
    await pause(retryMs);
  }
}

/** Registers the process to be stopped at the end. */
export function closeLater(context: PeerContext, child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): void {
  context.onClose(async () => {
    const timer = setTimeout(() => child.kill('SIGKILL'), stopMs);
    await endChild(child, signal);
    clearTimeout(timer);
  });
}

/** Starts a file of this folder as a process. It sends a message when it is ready. @returns its process id */
export async function openService(context: PeerContext, file: string, ...args: readonly string[]): Promise<number> {
  const env = { ...readEnvironment(), RESTATE_LOGGING: 'ERROR' };
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { env });
  closeLater(context, child);
  const ended = once(child, 'exit').then(([code]) => {
    throw new PeerMissing(`its service ended with ${code} at its start`);
  });
  ended.catch(() => undefined);
  await Promise.race([once(child, 'message'), ended]);
  return child.pid ?? 0;
}
