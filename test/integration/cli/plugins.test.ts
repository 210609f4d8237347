/** The plugins for Claude Code and Codex: the hooks of `stopgate init claude --form http`, and the skill of both. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { tools } from '../../../src/mcp/tools/index.ts';
import { runCommand } from '../../support/command.ts';
import { makeFolder } from '../../support/deployment.ts';

const read = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')) as Record<string, unknown>;

test('its hooks are those of init', async () => {
  const folder = await makeFolder();
  const { stdout } = await runCommand(['init', 'claude', '--form', 'http', '--dry-run', '--json'], {
    cwd: folder.path,
    env: { CLAUDE_CODE_ENABLE_TODO_TOOLS: '1' }, // whatever the policies of a service are that somebody runs here
  });
  await folder.remove();
  const { changes } = JSON.parse(stdout) as { changes: [{ after: string }] };
  expect(read('plugins/claude/hooks/hooks.json')).toEqual(JSON.parse(changes[0].after));
});

test('it has the version of the package, and the marketplace has it', () => {
  const { name, version } = read('plugins/claude/.claude-plugin/plugin.json');
  expect(version).toBe(read('package.json').version);
  expect(read('.claude-plugin/marketplace.json')).toMatchObject({ plugins: [{ name, source: './plugins/claude' }] });
});

test('the plugin for Codex has the version of the package, and its marketplace has it', () => {
  const { name, version, skills } = read('plugins/codex/.codex-plugin/plugin.json');
  expect([version, skills]).toEqual([read('package.json').version, './skills/']);
  const source = { source: 'local', path: './plugins/codex' };
  expect(read('.agents/plugins/marketplace.json')).toMatchObject({ plugins: [{ name, source }] });
});

test('both have the same skill, whose description fits and whose tools exist', () => {
  const [skill, other] = ['claude', 'codex'].map((plugin) =>
    readFileSync(new URL(`../../../plugins/${plugin}/skills/stopgate/SKILL.md`, import.meta.url), 'utf8'),
  );
  expect(other).toBe(skill);
  const [, name, description = ''] = /^---\nname: (.+)\ndescription: (.+)\n---\n/.exec(skill ?? '') ?? [];
  expect(name).toBe('stopgate');
  // The limit of the Agent Skills specification.
  expect(description.length).toBeLessThanOrEqual(1_024);
  const section = skill?.split('## If you have the MCP tools')[1] ?? '';
  const named = [...section.matchAll(/^\| .* \| (.*) \|$/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, tool = '']) => tool),
  );
  expect(named).toContain('docs_search');
  expect(named.filter((tool) => !tools.has(tool))).toEqual([]);
});
