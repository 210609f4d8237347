/** A flood of attempts opens no gate: nothing is allowed while its check waits for a place (docs/protocol.md §8). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { ask } from '../http/request.ts';

/** Two places for a hundred checks: the last one waits far longer than its own time. */
const config = JSON.stringify({
  concurrency: 2,
  policies: { default: { checks: [{ command: 'slow', timeout: '2s' }] } },
  commands: { slow: { run: ['sh', '-c', 'sleep 0.1; exit 1'], cwd: '.' } },
});

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config });
});
afterAll(() => at.close());

test('a hundred workers stop at once, and each gets what its check found', async () => {
  const workers = Array.from({ length: 100 }, (_, index) => `flood-${index}`);
  const deciding = Promise.all(workers.map((worker) => at.client.ask(`decide.${worker}`, { attempt: 'a1' }, 90_000)));
  const waiting = async () =>
    Number(/^stopgate_checks_waiting (\d+)$/m.exec((await ask(at.http, '/metrics')).text)?.[1]);
  await expect.poll(waiting, { timeout: 20_000, interval: 20 }).toBeGreaterThan(50);
  const causes = (await deciding).map(({ body: { decision, cause } }) => `${decision} ${cause}`);
  expect(new Set(causes)).toEqual(new Set(['block incomplete']));
  expect(await waiting()).toBe(0);
}, 120_000);
