/**
 * `npm start` under a supervisor that knows only npm's process. Root cause of a service that was left behind: npm
 * passes a signal on to its shell, but a shell that waits for a command dies of SIGTERM without passing it on.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { isRunning } from '../integration/runner/workspace.ts';
import { makeFolder } from '../support/deployment.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

test.each(['SIGTERM', 'SIGINT'] as const)('%s to npm ends the service and its nats-server', async (signal) => {
  const folder = await makeFolder();
  const options = ['--port', '0', '--http', 'off', '--store', folder.path];
  // --ignore-scripts skips only `prestart`, because the tests run an existing build.
  const npm = spawn('npm', ['start', '--silent', '--ignore-scripts', '--', ...options], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pids: number[] = [];
  onTestFinished(async () => {
    for (const pid of pids) if (await isRunning(pid)) process.kill(pid, 'SIGKILL');
    npm.kill('SIGKILL');
    await folder.remove();
  });
  await once(createInterface({ input: npm.stdout }), 'line');
  const inStore = (name: string) => readFile(join(folder.path, name), 'utf8').catch(() => '');
  await expect.poll(() => inStore('service.json')).toContain('"pid"');
  const service = JSON.parse(await inStore('service.json')) as { pid: number };
  pids.push(service.pid, Number(await inStore('nats-server.pid')));
  expect(await Promise.all(pids.map(isRunning))).toEqual([true, true]);

  const closed = once(npm, 'close'); // fires when all processes have closed its stdout
  npm.kill(signal);
  await closed;
  expect(await Promise.all(pids.map(isRunning))).toEqual([false, false]);
});
