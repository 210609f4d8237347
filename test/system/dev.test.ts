/**
 * The shipped `stopgate dev`: the lines that it prints can be pasted. npm-start.test.ts and commands.test.ts test
 * signals.
 */
import { execFile, spawn } from 'node:child_process';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { isRunning } from '../integration/runner/workspace.ts';
import { cleanEnv } from '../support/command.ts';
import { exists, inStore, ownFolder, serverPid, startDev } from '../support/dev.ts';
import { serveShipped } from '../support/service.ts';
import { main } from '../support/shipped.ts';

test('its five lines can be pasted, and lead from a rule to a blocked and then an allowed stop', async () => {
  const folder = await ownFolder();
  const dev = await startDev(folder, serveShipped);
  await dev.printed('Ctrl-C ends it');
  const lines = dev
    .stderr()
    .split('\n')
    .filter((line) => /^ {2}\S/.test(line));
  expect(lines).toHaveLength(5);
  const npx = await folder.write('bin/npx', `#!/bin/sh\nshift\nexec '${process.execPath}' '${main}' "$@"\n`);
  await chmod(npx, 0o755);
  const env = { PATH: `${join(folder.path, 'bin')}:/usr/bin:/bin`, HOME: folder.path };
  const paste = (line = '') =>
    promisify(execFile)('sh', ['-c', line], { cwd: folder.path, env }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    );
  const [rule, planStep, decide, doStep, look] = lines;
  expect(await paste(rule)).toMatchObject({ code: 0 });
  await dev.printed('reloaded the configuration');
  expect(await paste(planStep)).toMatchObject({ code: 0 });
  expect(await paste(decide)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('1 of 1 plan steps remain: Write tests'),
  });
  expect(await paste(doStep)).toMatchObject({ code: 0 });
  expect(await paste(decide)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('allow · complete · complete'),
  });
  expect(await paste(look)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/w1 · stopped[\s\S]*✓ Write tests/),
  });
});

test('a closed terminal ends it, and its nats-server', async () => {
  const folder = await ownFolder();
  const dev = await startDev(folder, serveShipped);
  const pid = await serverPid(folder);
  expect(await dev.kill('SIGHUP')).toBe(0);
  expect(await isRunning(pid)).toBe(false);
});

test('it ends by the hangup, where Node would abort because the terminal is gone', { timeout: 60_000 }, async () => {
  const folder = await ownFolder();
  // The shell gets the hangup and passes it on, like one that a person uses. The second wait is for the exit.
  const dev = `'${process.execPath}' '${main}' dev --port 0 --http 127.0.0.1:0`;
  const line = `trap 'kill -HUP $pid' HUP; ${dev} & pid=$!; wait $pid; wait $pid; echo $? > status`;
  const terminal = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: folder.path,
    env: cleanEnv(folder.path),
    stdio: 'ignore',
  });
  await expect.poll(() => exists(inStore(folder, 'service.json')), { timeout: 30_000 }).toBe(true);
  const pid = await serverPid(folder);
  terminal.kill('SIGKILL'); // its end of the terminal is closed
  const status = () => readFile(join(folder.path, 'status'), 'utf8').catch(() => '');
  await expect.poll(status, { timeout: 20_000 }).toBe('129\n');
  expect(await isRunning(pid)).toBe(false);
});
