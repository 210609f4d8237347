/** The process that folds history exits with the service, however that ends. Runs only on Linux, to list children. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { isRunning } from '../../integration/runner/workspace.ts';
import { deploy } from '../../support/deployment.ts';
import { serveShipped } from '../../support/service.ts';

const childrenFile = (pid: number) => `/proc/${pid}/task/${pid}/children`;
const isLinux = existsSync(childrenFile(process.pid));

/** Starts a service that has shown a past entry, and finds its history process. */
async function place() {
  const at = await deploy({ start: serveShipped });
  onTestFinished(() => at.close());
  const { client, http, service } = at;
  await client.publish('worker.w1.tool.used', { tool: 'Bash' });
  const jump = async () => (await fetch(`${http}/api/main/at/1`)).status;
  expect(await jump()).toBe(200);
  const child = Number(await readFile(childrenFile(service.pid), 'utf8'));
  expect(await isRunning(child)).toBe(true);
  return { service, child, jump };
}

test.runIf(isLinux)('kill -9 of the service leaves no history process behind', async () => {
  const { service, child } = await place();
  await service.kill('SIGKILL');
  await expect.poll(() => isRunning(child)).toBe(false);
});

test.runIf(isLinux)('the history process ignores Ctrl-C and leaves it to the service', async () => {
  const { service, child, jump } = await place();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(child, signal);
  expect(await jump()).toBe(200);
  expect(await isRunning(child)).toBe(true);
  expect(await service.kill('SIGINT')).toBe(0);
  expect(await isRunning(child)).toBe(false);
  expect(service.stderr()).not.toContain('history process');
});
