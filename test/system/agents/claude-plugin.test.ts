/** The repository's plugin for Claude Code, with a different port: loaded from its folder, and installed. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, deploy, type Folder, makeFolder } from '../../support/deployment.ts';
import { claudeCode, installAgent } from './support/install.ts';
import { claudeEnv, runAgent } from './support/run.ts';
import { claudeScene, type Scene } from './support/scene.ts';
import { expectCauses, planPolicy } from './support/workers.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const plan = { tool: 'TaskCreate', input: { subject: 'Write the tests', description: 'of the parser' } };
const done = { tool: 'TaskUpdate', input: { taskId: '1', status: 'completed' } };
const turns = [plan, { text: 'one' }, done, { text: 'two' }];

let claude: string;
let at: Deployment;
let copy: Folder;
beforeAll(async () => {
  claude = await installAgent(claudeCode);
  at = await deploy({ config: planPolicy });
  copy = await makeFolder();
  for (const folder of ['.claude-plugin', 'plugins/claude'])
    await cp(join(root, folder), join(copy.path, folder), { recursive: true });
  const hooks = join(copy.path, 'plugins/claude/hooks/hooks.json');
  await writeFile(hooks, (await readFile(hooks, 'utf8')).replaceAll('http://127.0.0.1:4280', at.http));
});
afterAll(async () => {
  await at.close();
  await copy.remove();
});

async function expectGated({ model, run }: Scene, more: readonly string[] = []): Promise<void> {
  const { code, worker } = await run('Write the tests.', more);
  expect(code).toBe(0);
  expect(model.requests).toHaveLength(4);
  await expectCauses(at, worker, ['incomplete', 'complete']);
}
const scene = () => claudeScene({ program: claude, http: at.http, turns, init: null });

test('works when loaded from its folder', async () => {
  await expectGated(await scene(), ['--plugin-dir', join(copy.path, 'plugins/claude')]);
});

test('works when installed from the repository as a marketplace', async () => {
  const gated = await scene();
  const { home, model } = gated;
  const plugin = async (...words: string[]) => {
    const { code, stdout, stderr } = await runAgent(claude, ['plugin', ...words], {
      at: home,
      env: claudeEnv(home, model.url),
    });
    expect(code, stdout + stderr).toBe(0);
  };
  await plugin('marketplace', 'add', copy.path);
  await plugin('install', 'stopgate@stopgate');
  await expectGated(gated);
});

test.each(['plugins/claude', '.'])('Claude Code validates %s without a finding', async (folder) => {
  const home = (await scene()).home;
  const checked = await runAgent(claude, ['plugin', 'validate', '--strict', join(root, folder)], {
    at: home,
    env: claudeEnv(home, 'http://127.0.0.1:9'),
  });
  expect(checked.code, checked.stdout).toBe(0);
});
