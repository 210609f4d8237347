/** `stopgate spend` sums the usage of agents in the log. */
import { expect, test } from 'vitest';
import { useStandIn } from '../../support/stand-in.ts';
import { runOnce } from '../../support/terminal.ts';

const standIn = useStandIn();

async function openLog() {
  const fleet = standIn.newFleet();
  await standIn.makeLog(fleet);
  const put = (tail: string, data: object) =>
    standIn.connection().request(`stopgate.${fleet}.${tail}`, JSON.stringify(data));
  const spend = (...argv: string[]) =>
    runOnce(['spend', ...argv, '--nats', standIn.url(), '--fleet', fleet], { columns: 100 });
  const rows = async (...argv: string[]) => JSON.parse((await spend('--json', ...argv)).stdout);
  return { fleet, put, spend, rows };
}

const today = () => new Date().toISOString().slice(0, 10);

test('sums by day, model, worker and task', async () => {
  const { put, rows, spend } = await openLog();
  await put('worker.w1.usage.reported', { input: 100, output: 20, cacheRead: 900, usd: 0.1, model: 'm-1' });
  await put('worker.w1.task.claimed', { task: 'T-1' });
  await put('worker.w1.usage.reported', { output: 5, cacheWrite: 2, usd: 0.2, model: 'm-2' });
  await put('worker.w2.usage.reported', { input: 1_000 });
  await put('worker.w2.usage.reported', { input: -1, usd: 50 });
  await put('worker.w2.tool.used', { tool: 'Bash' });
  const all = { usd: 0.3, tokens: 1_127, cacheRead: 900, reports: 3 };
  const began = today();
  const days = await rows();
  if (began === today()) expect(days).toEqual([{ day: began, ...all }]);
  expect(await rows('--by', 'model')).toEqual([
    { model: 'm-2', usd: 0.2, tokens: 7, cacheRead: 0, reports: 1 },
    { model: 'm-1', usd: 0.1, tokens: 120, cacheRead: 900, reports: 1 },
    { model: null, usd: 0, tokens: 1_000, cacheRead: 0, reports: 1 },
  ]);
  expect(await rows('--by', 'worker')).toEqual([
    { worker: 'w1', usd: 0.3, tokens: 127, cacheRead: 900, reports: 2 },
    { worker: 'w2', usd: 0, tokens: 1_000, cacheRead: 0, reports: 1 },
  ]);
  expect(await rows('--by', 'task')).toEqual([
    { task: 'T-1', usd: 0.2, tokens: 7, cacheRead: 0, reports: 1 },
    { task: null, usd: 0.1, tokens: 1_120, cacheRead: 900, reports: 2 },
  ]);
  expect(await rows('--by', 'task', '--since', '0s')).toEqual([]);
  const { stdout, code } = await spend('--by', 'worker');
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/)),
  ).toEqual([
    ['WORKER', 'USD', 'TOKENS', 'CACHE READ', 'REPORTS'],
    ['w1', '0.30', '127', '900', '2'],
    ['w2', '-', '1,000', '0', '1'],
    ['total', '0.30', '1,127', '900', '3'],
  ]);
  expect(code).toBe(0);
});

test('says how agents report usage, and which prices are unknown', async () => {
  const { fleet, spend } = await openLog();
  const { stdout, code } = await spend();
  expect(stdout).toContain(`No agent in fleet '${fleet}' has reported usage.`);
  // Both commands start with npx, because stopgate is not on the PATH.
  expect(stdout).toContain('"npx stopgate init claude --user --usage"');
  expect(stdout).toContain('any program can: npx stopgate publish worker');
  expect(code).toBe(0);
  expect((await spend('--since', '2999-01-01')).stdout).toBe(
    `No agent in fleet '${fleet}' has reported usage since 2999-01-01T00:00:00.000Z.\n`,
  );
  expect((await spend('--by', 'agent')).code).toBe(2);
});
