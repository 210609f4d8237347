/** `stopgate bench` as it is shipped, by its cheapest part: it starts and ends all that it needs by itself. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Folder, makeFolder } from '../support/deployment.ts';
import { runShipped, startShipped } from '../support/shipped.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => folder.remove());

/** Variables of the user's own service are not for the one that is measured. */
const place = () => ({ cwd: folder.path, env: { TMPDIR: folder.path, STOPGATE_CREDS: 'nowhere.creds' } });
const leftBehind = () => readdirSync(folder.path).filter((name) => name.startsWith('stopgate-bench-'));

test('prints a table of figures, with what it does on stderr, and leaves nothing behind', async () => {
  const { code, stdout, stderr } = await runShipped(['bench', 'memory', '--quick'], place());
  expect(stdout).toMatch(/^heap of a worker without activity, of 10,000 +[\d,]+ B +<= 5000 +reached\n$/);
  expect({ code, stderr, left: leftBehind() }).toEqual({ code: 0, stderr: 'measuring memory\n', left: [] });
});

test('--json is for programs', async () => {
  const { stdout } = await runShipped(['bench', 'memory', '--json'], place());
  expect(JSON.parse(stdout)).toEqual([
    { name: expect.any(String), value: expect.any(Number), unit: 'B', goal: { atMost: 5_000 }, reached: true },
  ]);
});

test('a part that there is not', async () => {
  const { code, stdout, stderr } = await runShipped(['bench', 'speed'], place());
  expect(stderr).toMatch(/^stopgate: the bench has no part 'speed'; its parts: memory, bounds, start, /);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
});

test('ended early it ends what it started', async () => {
  const bench = startShipped(['bench', 'latency'], place());
  await bench.printed('measuring latency');
  expect(await bench.kill('SIGTERM')).toBe(1);
  expect(bench.stderr()).toContain('ended early');
  expect(leftBehind()).toEqual([]);
});
