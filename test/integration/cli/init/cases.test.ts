/** init writes a first case file for `stopgate test`, shows it, and never touches one that somebody has written. */
import { expect, test } from 'vitest';
import { runOnce } from '../../../support/terminal.ts';
import { isGone, place } from './place.ts';

const file = 'stopgate.test.yaml';

test('with the settings, once: its cases pass, and --remove takes it out again', async () => {
  const { init, read, cwd } = await place();
  const shown = await init('claude', '--dry-run');
  expect(shown.stdout).toContain(`${file} (new)`);
  await isGone(read(file));
  const { stderr } = await init('claude', '--yes');
  expect(stderr).toMatch(/stopgate\.test\.yaml has two example cases\. Run ".*stopgate test" to try/);
  const text = await read(file);
  expect(await runOnce(['test'], { cwd })).toMatchObject({ code: 0 });
  // A second agent, and a second run, find it there.
  expect((await init('gemini', '--yes')).stderr).not.toContain(file);
  expect((await init('claude', '--yes')).stderr).toContain('already up to date');
  expect(await read(file)).toBe(text);
  await init('claude', '--yes', '--remove');
  await isGone(read(file));
});

test("somebody's own cases stay as they are", async () => {
  const { init, read, put } = await place();
  const own = 'topic: mine\ncases: []\n';
  await put(file, own);
  expect((await init('claude', '--yes')).stderr).not.toContain(file);
  await init('claude', '--yes', '--remove');
  expect(await read(file)).toBe(own);
});

test('in the folder of a stopgate.yaml for user settings too, and nowhere else', async () => {
  const { init, read, cwd } = await place();
  await init('codex', '--yes');
  expect(await read(file)).toContain('cases:');
  const env = { PATH: '/nowhere', HOME: `${cwd}/home` };
  await runOnce(['init', 'claude', '--user', '--yes'], { cwd: `${cwd}/home`, env });
  await isGone(read(`home/${file}`));
});
