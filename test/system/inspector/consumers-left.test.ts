/** Reading the past leaves no consumers on the NATS server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask } from '../../integration/http/request.ts';
import { needsBuild } from '../../support/built.ts';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { endService, startService } from '../../support/service.ts';

let deployment: Deployment;
let before: Record<string, number>;

beforeAll(async () => {
  needsBuild();
  deployment = await deploy();
  for (let count = 0; count < 30; count += 1) {
    await deployment.client.publish('worker.w1.tool.used', { tool: 'Edit' });
    if (count % 10 === 9) {
      await deployment.client.ask('decide.w1', { attempt: `a${count}` });
      await deployment.client.ask('snapshot.main', {});
    }
  }
  before = await consumers();
});
afterAll(() => deployment?.close());

async function consumers(): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for await (const { config, state } of deployment.client.manager.streams.list())
    found[config.name] = state.consumer_count;
  return found;
}

test('before, only the service reads its log', () => {
  expect(before.STOPGATE_main).toBe(1);
  expect(before['OBJ_STOPGATE-SNAPSHOTS_main']).toBe(0);
});

test.each([
  'at/5',
  'at/25',
  'range',
  'outline?to=30&width=1024',
  'entry/7',
  'statistics',
  'policy',
  'timeline/worker/w1',
  'attempts/w1',
  'history/w1.jsonl',
])('GET /api/main/%s', async (path) => {
  const answer = await fetch(`${deployment.http}/api/main/${path}`);
  expect((await answer.text()).length).toBeGreaterThan(0);
  expect(answer.status).toBe(200);
  await expect.poll(consumers).toEqual(before);
});

test('POST /api/main/what-if', async () => {
  const body = { policy: 'policies: { default: { checks: [] } }' };
  const { status, text } = await ask(deployment.http, '/api/main/what-if', { method: 'POST', body });
  expect([status, status < 300 ? '' : text]).toEqual([200, '']);
  await expect.poll(consumers).toEqual(before);
});

test.each([
  ['export', '--nats'],
  ['worker', 'w1', '--nats'],
  ['audit', '--nats'],
  ['tail', '--last', '5', '--no-follow', '--nats'],
])('stopgate %s', async (...args) => {
  expect(await runCommand([...args, deployment.server.url], { cwd: deployment.folder.path })).toMatchObject({
    code: 0,
  });
  await expect.poll(consumers).toEqual(before);
});

test('a start from a snapshot, and its end', async () => {
  const args = ['serve', '--nats', deployment.server.url, '--http', 'off', '--replica', 'r2'];
  const other = await startService(args, deployment.folder.path);
  await expect.poll(consumers).toEqual({ ...before, STOPGATE_main: 2 });
  await endService(other);
  // Its last snapshot may create the store of older snapshots.
  await expect.poll(consumers).toMatchObject(before);
  expect(Object.values(await consumers()).reduce((sum, count) => sum + count)).toBe(1);
});
