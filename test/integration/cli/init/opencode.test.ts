/** `stopgate init opencode` copies our plugin, which is a file of the build. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { needsBuild } from '../../../support/built.ts';
import { runCommand } from '../../../support/command.ts';
import { runOnce } from '../../../support/terminal.ts';
import { isGone, place } from './place.ts';

beforeAll(() => needsBuild('src/agents/opencode/plugin.js'));

test('writes only our plugin, with the address in it', async () => {
  const { cwd, put, read } = await place();
  const run = (...args: string[]) => runCommand(['init', 'opencode', '--yes', ...args], { cwd });
  expect((await run('--http', '127.0.0.1:4777', '--policy', 'strict')).code).toBe(0);
  const text = await read('.opencode/plugin/stopgate.js');
  expect(text).toContain('defaultUrl = "http://127.0.0.1:4777"');
  expect(text).toMatch(/\?event=\$\{event\}&policy=strict/);
  expect((await run('--http', '127.0.0.1:4777', '--policy', 'strict')).stderr).toContain('already up to date');
  await run('--token-env', 'OTHER_TOKEN');
  expect(await read('.opencode/plugin/stopgate.js')).toContain('tokenVariable = "OTHER_TOKEN"');
  await run('--remove');
  await isGone(read('.opencode/plugin/stopgate.js'));
  await put('.opencode/plugin/stopgate.js', 'mine');
  expect(await run('--remove')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('was not written by stopgate'),
  });
});

test('has the form http, whatever programs are installed', async () => {
  const { cwd } = await place();
  for (const PATH of ['/usr/local/bin:/usr/bin:/bin', '/nowhere']) {
    const env = { PATH, HOME: join(cwd, 'home') };
    const { stdout } = await runOnce(['init', 'opencode', '--yes', '--json'], { cwd, env });
    expect(JSON.parse(stdout)).toMatchObject({ form: 'http' });
  }
});

test('--fleet is part of each call', async () => {
  const { init, read } = await place();
  await init('opencode', '--yes', '--fleet', 'web');
  const plugin = await read('.opencode/plugin/stopgate.js');
  expect(plugin).toMatch(/\?event=\$\{event\}&fleet=web/);
  expect(plugin).toMatch(/\?worker=\$\{encodeURIComponent\(id\)\}&fleet=web/);
});

test('--remove deletes the plugin, and its folder if that is empty', async () => {
  const { cwd, init, put } = await place();
  for (const other of [null, 'theirs.md']) {
    if (other !== null) await put(join('.opencode', other), 'theirs');
    await init('opencode', '--yes');
    expect(await readdir(join(cwd, '.opencode'))).toContain('plugin');
    await init('opencode', '--remove', '--yes');
    const left = await readdir(join(cwd, '.opencode')).catch(() => null);
    expect(left).toEqual(other === null ? null : [other]);
  }
});
