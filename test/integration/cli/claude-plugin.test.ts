/** The plugin for Claude Code has the hooks that `stopgate init claude --form http` writes. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { makeFolder } from '../../support/deployment.ts';

const read = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')) as Record<string, unknown>;

test('its hooks equal those of init', async () => {
  const folder = await makeFolder();
  const { stdout } = await runCommand(['init', 'claude', '--form', 'http', '--dry-run', '--json'], {
    cwd: folder.path,
    env: { CLAUDE_CODE_ENABLE_TODO_TOOLS: '1' }, // whatever the policies of a service are that somebody runs here
  });
  await folder.remove();
  const { changes } = JSON.parse(stdout) as { changes: [{ after: string }] };
  expect(read('plugins/claude/hooks/hooks.json')).toEqual(JSON.parse(changes[0].after));
});

test('it has the version of the package, and is listed in the marketplace', () => {
  const { name, version } = read('plugins/claude/.claude-plugin/plugin.json');
  expect(version).toBe(read('package.json').version);
  expect(read('.claude-plugin/marketplace.json')).toMatchObject({ plugins: [{ name, source: './plugins/claude' }] });
});
