/** Starts the service that a hook did not find: detached, in the project's folder, to end by itself when idle. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const idleExit = '30m';
const startMsMax = 15_000;
const lookEveryMs = 50;

/**
 * True as soon as it is ready. Hooks that come at once may all start one; the store's lock leaves one of them, and the
 * others end by themselves.
 */
export async function startService(folder: string, http: string, timeoutMs: number): Promise<boolean> {
  const main = fileURLToPath(new URL('../main.js', import.meta.url));
  const { host } = new URL(http);
  const child = spawn(process.execPath, [main, 'dev', '--idle-exit', idleExit, '--port', '0', '--http', host], {
    ...{ cwd: folder, detached: true, stdio: 'ignore' },
  });
  let isGone = false;
  for (const end of ['error', 'exit']) child.on(end, () => (isGone = true));
  child.unref();
  const untilMs = performance.now() + Math.min(timeoutMs, startMsMax);
  while (performance.now() < untilMs) {
    const isHopeless = isGone && !isStarting(folder);
    if (await isReady(http)) return true;
    // Agents call for every tool: they must not wait each time for what cannot start.
    if (isHopeless) return false;
    await new Promise((done) => setTimeout(done, lookEveryMs));
  }
  return false;
}

/** Somebody has the store, and is not ready yet. One that is, and is not here, listens elsewhere. */
function isStarting(folder: string): boolean {
  const holder = pidIn(join(folder, '.stopgate', 'lock'));
  return holder !== undefined && holder !== pidIn(join(folder, '.stopgate', 'service.json'));
}

function pidIn(file: string): unknown {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { pid?: unknown }).pid;
  } catch {
    return undefined; // not there
  }
}

const isReady = (http: string): Promise<boolean> =>
  new Promise((resolve) => {
    const asked = get(`${http}/readyz`, { agent: false, timeout: 1_000 }, (response) => {
      response.resume();
      // With a token it answers 401: it is there all the same.
      resolve(response.statusCode === 200 || response.statusCode === 401);
    });
    asked.on('error', () => resolve(false));
    asked.on('timeout', () => asked.destroy());
  });
