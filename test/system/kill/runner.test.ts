/** Killing a runner during a check causes an error of that check. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { deploy, makeFolder } from '../../support/deployment.ts';
import { endService, serveShipped, startService } from '../../support/service.ts';

const config =
  'policies: { default: { runner: box, retries: null, checks: [{ command: lasting, timeout: 2s, onError: block }] } }';
const lasting = '[ -e done ] && exit 0; echo $$ > started; exec sleep 30';
const runnerConfig = JSON.stringify({ commands: { lasting: { run: ['sh', '-c', lasting], cwd: '.' } } });

test('the check of a killed runner ends within its timeout, and a new runner serves the retry', async () => {
  const at = await deploy({ config });
  onTestFinished(() => at.close());
  const workspace = await makeFolder({ 'stopgate.yaml': runnerConfig });
  onTestFinished(() => workspace.remove());
  const line = ['runner', '--name', 'box', '--nats', at.server.url];
  const runner = await serveShipped(line, workspace.path);
  const decision = at.client.ask('decide.w1', { attempt: 'a1' });
  const startedPid = async () => Number(await readFile(join(workspace.path, 'started'), 'utf8').catch(() => ''));
  await expect.poll(startedPid).toBeGreaterThan(0);
  const left = await startedPid();
  await runner.kill('SIGKILL');
  try {
    const reason = expect.stringMatching(/^runner box does not answer: no reply from stopgate\.main\.run\.box within/);
    const { body } = await decision;
    expect(body).toMatchObject({ decision: 'block', reason, feedback: [{ outcome: 'error' }] });
  } finally {
    process.kill(left, 'SIGKILL'); // a process left by the killed runner
  }
  const second = await startService(line, workspace.path);
  onTestFinished(() => endService(second));
  await workspace.write('done', '');
  expect((await at.client.ask('decide.w1', { attempt: 'a2' })).body).toMatchObject({
    decision: 'allow',
    cause: 'complete',
  });
});
