/** Starts a service, detached, in the project's folder. It exits when it is idle. */
import { spawn } from 'node:child_process';
import { get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readPlainFile } from '../plain-file.ts';

const idleExit = '30m';
const startMsMax = 15_000;
const pollEveryMs = 50;

/**
 * Resolves to true once the service is ready. If several hooks start one at the same time, the lock of the store leaves
 * one running, and the others exit.
 */
export async function startService(folder: string, http: string, timeoutMs: number): Promise<boolean> {
  const main = fileURLToPath(new URL('../main.js', import.meta.url));
  const { host } = new URL(http);
  const child = spawn(process.execPath, [main, 'dev', '--idle-exit', idleExit, '--port', '0', '--http', host], {
    cwd: folder,
    detached: true,
    stdio: 'ignore',
  });
  let isGone = false;
  for (const end of ['error', 'exit']) child.on(end, () => (isGone = true));
  child.unref();
  const untilMs = performance.now() + Math.min(timeoutMs, startMsMax);
  while (performance.now() < untilMs) {
    const hasFailed = isGone && !isStarting(folder);
    if (await isReady(http)) return true;
    // Agents call at every tool: do not let each call wait for a service that cannot start.
    if (hasFailed) return false;
    await new Promise((done) => setTimeout(done, pollEveryMs));
  }
  return false;
}

/** Whether another process holds the store but is not ready yet. If it is ready, it listens at another address. */
function isStarting(folder: string): boolean {
  const holder = pidIn(join(folder, '.stopgate', 'lock'));
  return holder !== undefined && holder !== pidIn(join(folder, '.stopgate', 'service.json'));
}

function pidIn(file: string): unknown {
  try {
    return (JSON.parse(readPlainFile(file)) as { pid?: unknown }).pid;
  } catch {
    return undefined; // missing or incomplete
  }
}

const isReady = (http: string): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get(`${http}/readyz`, { agent: false, timeout: 1_000 }, (response) => {
      response.resume();
      // A service with a token answers 401, and is ready too.
      resolve(response.statusCode === 200 || response.statusCode === 401);
    });
    request.on('error', () => resolve(false));
    request.on('timeout', () => request.destroy());
  });
