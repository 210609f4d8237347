/**
 * A command that speaks JSON, in a service: after a pending answer it runs again, and its usage counts for the worker.
 */
import { expect, onTestFinished, test } from 'vitest';
import { deploy } from '../../support/deployment.ts';

test('a pending command runs again until it has a result, and its usage counts for the worker', async () => {
  const source = `cat >/dev/null
    if [ -e asked ]; then echo '{"complete":true,"usage":{"input":7,"usd":0.5,"model":"m"}}'
    else touch asked; echo '{"pending":true,"reason":"CI runs","retryAfterMs":1000}'; fi`;
  const at = await deploy({
    config: JSON.stringify({
      policies: { default: { checks: [{ command: 'judge', timeout: '30s' }] } },
      commands: { judge: { run: ['sh', '-c', source], cwd: '.', speaks: 'json' } },
    }),
  });
  onTestFinished(at.close);
  const decided = at.client.ask('decide.w1', { attempt: 'a1' });
  await expect
    .poll(async () => (await at.client.ask('get.worker.w1')).body)
    .toMatchObject({ attempt: { pending: { check: 'judge', reason: 'CI runs' } } });
  expect((await decided).body).toMatchObject({ decision: 'allow', cause: 'complete' });
  expect((await at.client.ask('get.worker.w1')).body).toMatchObject({ usage: { session: { tokens: 7, usd: 0.5 } } });
});
