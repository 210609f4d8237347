/** The repository as a marketplace of the real Codex: its plugin is installed, and has the skill. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { codexCli, installAgent } from './support/install.ts';
import { codexEnv, makeAgentHome, runAgent } from './support/run.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

test('works when installed from the repository as a marketplace', async () => {
  const codex = await installAgent(codexCli);
  const home = await makeAgentHome();
  const env = codexEnv(home);
  const folder = env.CODEX_HOME ?? join(home.home, '.codex');
  await home.write(`${folder.slice(home.path.length + 1)}/config.toml`, '');
  const plugin = async (...words: string[]) => {
    const { code, stdout, stderr } = await runAgent(codex, ['plugin', ...words], { at: home, env });
    expect(code, stdout + stderr).toBe(0);
    return stdout;
  };
  await plugin('marketplace', 'add', root);
  await plugin('add', 'stopgate@stopgate');
  expect(await plugin('list')).toMatch(/^stopgate@stopgate +installed, enabled/m);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const installed = join(folder, 'plugins/cache/stopgate/stopgate', version, 'skills/stopgate/SKILL.md');
  expect(readFileSync(installed, 'utf8')).toBe(
    readFileSync(join(root, 'plugins/codex/skills/stopgate/SKILL.md'), 'utf8'),
  );
});
