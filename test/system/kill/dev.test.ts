/** A killed `stopgate dev` leaves its nats-server running, and the next one takes over the store. */
import { expect, test } from 'vitest';
import { isRunning } from '../../integration/runner/workspace.ts';
import { runCommand } from '../../support/command.ts';
import { connect, ownFolder, serverPid, startDev } from '../../support/dev.ts';
import { serveShipped } from '../../support/service.ts';

test('after kill -9 a new `stopgate dev` takes over the store with all acknowledged entries', async () => {
  const folder = await ownFolder();
  const first = await startDev(folder, serveShipped);
  const left = await serverPid(folder);
  const before = await connect(first);
  await before.publish('worker.w1.tool.used', { tool: 'Bash' });
  await before.close();
  expect(await first.kill('SIGKILL')).toBeNull();
  const nobody = await runCommand(['decide', 'w1'], { cwd: folder.path });
  expect(nobody).toMatchObject({ code: 3, stderr: expect.stringContaining('no stopgate service serves fleet') });

  const second = await startDev(folder);
  expect(await isRunning(left)).toBe(false);
  expect(second.stderr()).toContain('stopped the nats-server of a stopgate that was killed');
  expect((await (await connect(second)).ask('get.worker.w1')).body).toMatchObject({ toolCount: 1 });
  expect(await runCommand(['decide', 'w1'], { cwd: folder.path })).toMatchObject({ code: 0 });
  const pid = await serverPid(folder);
  expect(await second.kill('SIGINT')).toBe(0);
  expect(await isRunning(pid)).toBe(false);
});
