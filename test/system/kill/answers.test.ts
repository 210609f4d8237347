/** An attempt repeated after a replica was killed gets the same reply, byte for byte, and counts once. */
import { expect, onTestFinished, test } from 'vitest';
import { deploy } from '../../support/deployment.ts';
import { endService, serveShipped, startService } from '../../support/service.ts';

/** The reply's text without the replica's name and the time taken. */
const essence = (text: string) => text.replace(/"replica":"[^"]*","tookMs":[\d.]+/, '"replica":"","tookMs":0');

test('a repeated attempt gets the same bytes: at once, from another replica, and from one restarted after a kill', async () => {
  const at = await deploy({ config: 'policies: { default: { checks: [{ plan: {} }] } }\n', args: ['--replica', 'ra'] });
  onTestFinished(() => at.close());
  const { client, server, folder } = at;
  await client.publish('worker.b1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  const ask = async () =>
    (await client.nc.request('stopgate.main.decide.b1', '{"attempt":"a1"}', { timeout: 30_000 })).string();
  const first = await ask();
  expect(await ask()).toBe(first);
  const line = ['serve', '--nats', server.url, '--http', 'off', '--replica', 'rb'];
  const second = await serveShipped(line, folder.path);
  const texts = new Set<string>();
  for (let turn = 0; turn < 20; turn += 1) texts.add(essence(await ask()));
  expect(await second.kill('SIGKILL')).toBeNull();
  const third = await startService(line, folder.path);
  onTestFinished(() => endService(third));
  for (let turn = 0; turn < 20; turn += 1) texts.add(essence(await ask()));
  expect([...texts]).toEqual([essence(first)]);
  expect((await client.ask('decide.b1', { attempt: 'a2' })).body).toMatchObject({ retry: { count: 2 } });
});
