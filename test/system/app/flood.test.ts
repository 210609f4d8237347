/** In a flood of attempts, no stop is allowed while its check waits for a slot (docs/protocol.md §8). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask } from '../../integration/http/request.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { takesAll } from '../../support/random.ts';

/** There are two slots for all checks, so the last one waits longer than its timeout. */
const gated = 'echo "$STOPGATE_WORKER" >> begun; until test -e open; do sleep 0.02; done; exit 1';
const config = JSON.stringify({
  concurrency: 2,
  policies: {
    default: { checks: [{ command: 'slow', timeout: '2s' }] },
    gated: { checks: [{ command: 'gated' }] },
  },
  commands: {
    slow: { run: ['sh', '-c', 'sleep 0.1; exit 1'], cwd: '.' },
    gated: { run: ['sh', '-c', gated], cwd: '.' },
  },
  assign: [{ labels: { gated: 'yes' }, policy: 'gated' }],
});

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config });
});
afterAll(() => at.close());
const waiting = async () => Number(/^stopgate_checks_waiting (\d+)$/m.exec((await ask(at.http, '/metrics')).text)?.[1]);

test('forty workers stop at once, and each gets the result of its check', async () => {
  const workers = Array.from({ length: 40 }, (_, index) => `flood-${index}`);
  const deciding = Promise.all(workers.map((worker) => at.client.ask(`decide.${worker}`, { attempt: 'a1' }, 90_000)));
  await expect.poll(waiting, { interval: 20 }).toBeGreaterThan(20);
  const causes = (await deciding).map(({ body: { decision, cause } }) => `${decision} ${cause}`);
  expect(new Set(causes)).toEqual(new Set(['block incomplete']));
  expect(await waiting()).toBe(0);
});

/** Runners take far more (test/integration/runner/processes.test.ts); 9,000 published attempts take a while. */
const invented = takesAll ? 9_000 : 500;

test('of many attempts of invented workers, only a few are judged before a neighbour', async () => {
  const gatedWorker = { labels: { gated: 'yes' } };
  await at.client.publish('worker.neighbour.worker.registered', gatedWorker);
  for (let from = 0; from < invented; from += 500) {
    const workers = Array.from({ length: 500 }, (_, index) => `invented-${from + index}`);
    await Promise.all(workers.map((worker) => at.client.publish(`worker.${worker}.worker.registered`, gatedWorker)));
    await Promise.all(workers.map((worker) => at.client.publish(`worker.${worker}.stop.attempted`, { attempt: 'a1' })));
  }
  await expect.poll(waiting).toBe(invented - 2);
  const deciding = at.client.ask('decide.neighbour', { attempt: 'a1' }, 60_000);
  await expect.poll(waiting).toBe(invented - 1);
  await at.folder.write('open', '');
  expect((await deciding).body).toMatchObject({ decision: 'block', cause: 'incomplete' });
  const begun = (await readFile(join(at.folder.path, 'begun'), 'utf8')).split('\n');
  expect(begun.indexOf('neighbour')).toBeLessThan(2 + 3);
});
