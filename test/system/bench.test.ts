/** Runs the cheapest part of `stopgate bench` in a checkout. It starts and stops everything that it needs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, runCommand } from '../support/command.ts';
import { type Folder, makeFolder } from '../support/deployment.ts';
import { startUnbundled, unbundledMain } from '../support/shipped.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => folder.remove());

/** The variables of the user's own service must not affect the measured one. */
const place = () => ({ cwd: folder.path, env: { TMPDIR: folder.path, STOPGATE_CREDS: 'nowhere.creds' } });
const leftBehind = () => readdirSync(folder.path).filter((name) => name.startsWith('stopgate-bench-'));

test('prints a table of figures, and progress on stderr, and leaves nothing behind', async () => {
  const { code, stdout, stderr } = await runCommand(['bench', 'memory', '--quick'], place(), startUnbundled);
  expect(stdout).toMatch(/^heap of a worker without activity, of 10,000 +[\d,]+ B +<= 5000 +reached\n$/);
  expect({ code, stderr, left: leftBehind() }).toEqual({ code: 0, stderr: 'measuring memory\n', left: [] });
});

test('--json prints JSON', async () => {
  const { stdout } = await runCommand(['bench', 'memory', '--quick', '--json'], place(), startUnbundled);
  expect(JSON.parse(stdout)).toEqual([
    { name: expect.any(String), value: expect.any(Number), unit: 'B', goal: { atMost: 5_000 }, reached: true },
  ]);
});

test('an unknown part is an error', async () => {
  const { code, stdout, stderr } = await runCommand(['bench', 'speed'], place(), startUnbundled);
  expect(stderr).toMatch(/^stopgate: the bench has no part 'speed'; its parts: memory, bounds, start, /);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
});

test('an interrupted run ends its processes', async () => {
  const bench = startUnbundled(['bench', 'latency'], place());
  await bench.printed('measuring latency');
  expect(await bench.kill('SIGTERM')).toBe(1);
  expect(bench.stderr()).toContain('interrupted; nothing was measured');
  expect(leftBehind()).toEqual([]);
});

// Root cause: a terminal sends Ctrl-C to all processes. The service ended first, and the bench printed a stack trace.
test('Ctrl-C in the terminal during the start ends it cleanly', async () => {
  const { cwd, env } = place();
  const bench = spawn(process.execPath, [unbundledMain, 'bench', 'latency'], {
    cwd,
    env: { ...cleanEnv(cwd), ...env },
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [said, ended] = [text(bench.stderr), once(bench, 'exit')];
  await expect.poll(() => leftBehind().some((name) => existsSync(join(cwd, name, 'stopgate.yaml')))).toBe(true);
  process.kill(-(bench.pid as number), 'SIGINT');
  expect(await ended).toEqual([1, null]);
  expect(await said).toBe('stopgate: interrupted; nothing was measured\n');
  expect(leftBehind()).toEqual([]);
});
