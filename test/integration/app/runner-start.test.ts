/** How `stopgate runner` starts, or reports why it does not. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { runCommand } from '../../support/command.ts';
import { makeFolder } from '../../support/deployment.ts';
import { endService, startService } from '../../support/service.ts';

test.each([
  { args: ['runner'], code: 2, says: '--name is missing' },
  { args: ['runner', '--name', 'b x'], code: 2, says: 'is not the id of a runner' },
  { args: ['runner', '--name', 'box', '--nats', 'nats://127.0.0.1:1'], code: 3, says: 'no NATS server at' },
])('$args ends with $code', async ({ args, code, says }) => {
  const folder = await makeFolder();
  onTestFinished(() => folder.remove());
  const ended = await runCommand(args, { cwd: folder.path });
  expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(says) });
});

test('it does not start with a broken configuration', async () => {
  const folder = await makeFolder({ 'stopgate.yaml': 'commands: { tests: { run: npm } }' });
  onTestFinished(() => folder.remove());
  const ended = await runCommand(['runner', '--name', 'box', '--nats', 'nats://127.0.0.1:1'], { cwd: folder.path });
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('stopgate.yaml:1:') });
});

test('it finds the credentials of an embedded server, and the service finds it', async () => {
  const folder = await makeFolder({
    'stopgate.yaml': JSON.stringify({
      policies: { default: { runner: 'box', checks: [{ command: 'fails', onError: 'block' }] } },
    }),
    'box/stopgate.yaml': JSON.stringify({ roots: ['work'], commands: { fails: { run: ['sh', '-c', 'exit 1'] } } }),
    'box/work/a.md': '',
  });
  onTestFinished(() => folder.remove());
  const service = await startService(['dev', '--port', '0', '--http', 'off'], folder.path);
  onTestFinished(() => endService(service));
  const runner = await startService(['runner', '--name', 'box'], join(folder.path, 'box'), { HOME: folder.path });
  onTestFinished(() => endService(runner));
  expect(runner.ready.nats).toBe(service.ready.nats);
  const registered = JSON.stringify({ cwd: join(folder.path, 'box/work') });
  await runCommand(['publish', 'worker', 'w1', 'worker.registered', registered], { cwd: folder.path });
  const { code, stdout } = await runCommand(['decide', 'w1', '--json'], { cwd: folder.path });
  expect([code, (JSON.parse(stdout) as Decision).reason]).toEqual([1, 'Command fails failed (exit 1)']);
});
