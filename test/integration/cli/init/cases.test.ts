/**
 * `stopgate init` writes a first case file for `stopgate test` and shows it. It never changes a case file of the user.
 */
import { expect, test } from 'vitest';
import { runOnce } from '../../../support/terminal.ts';
import { isGone, place } from './place.ts';

const file = 'stopgate.test.yaml';

test('is written once with the settings; its cases pass, and --remove deletes it', async () => {
  const { init, read, cwd } = await place();
  const shown = await init('claude', '--dry-run');
  expect(shown.stdout).toContain(`${file} (new)`);
  await isGone(read(file));
  const { stderr } = await init('claude', '--yes');
  expect(stderr).toMatch(/stopgate\.test\.yaml has two example cases\. Run ".*stopgate test" to try/);
  const text = await read(file);
  expect(await runOnce(['test'], { cwd })).toMatchObject({ code: 0 });
  // A second agent or run does not write it again.
  expect((await init('gemini', '--yes')).stderr).not.toContain(file);
  expect((await init('claude', '--yes')).stderr).toContain('already up to date');
  expect(await read(file)).toBe(text);
  await init('claude', '--yes', '--remove');
  await isGone(read(file));
});

test('cases of the user do not change', async () => {
  const { init, read, put } = await place();
  const own = 'topic: mine\ncases: []\n';
  await put(file, own);
  expect((await init('claude', '--yes')).stderr).not.toContain(file);
  await init('claude', '--yes', '--remove');
  expect(await read(file)).toBe(own);
});

test('is written only beside a stopgate.yaml, also for user settings', async () => {
  const { init, read, cwd } = await place();
  await init('codex', '--yes');
  expect(await read(file)).toContain('cases:');
  const env = { PATH: '/nowhere', HOME: `${cwd}/home` };
  await runOnce(['init', 'claude', '--user', '--yes'], { cwd: `${cwd}/home`, env });
  await isGone(read(`home/${file}`));
});
