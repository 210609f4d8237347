/** Policies to start from: each is valid, passes its own cases, and is on the page. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { templateNames, templates } from '../../../src/cli/templates.ts';
import { readPage, root } from '../../support/markdown.ts';
import { openTerminal, runOnce } from '../../support/terminal.ts';

const page = readPage('docs/templates.md');

/** A folder in which `init --policy NAME` has run, and what other commands say there. */
async function write(name: string, ...more: string[]) {
  const { cwd } = await openTerminal();
  const run = (...argv: string[]) => runOnce(argv, { cwd });
  return { cwd, run, written: await run('init', '--policy', name, ...more) };
}

test('templates/ has these and no more', () => {
  expect(readdirSync(join(root, 'templates')).sort()).toEqual([...templateNames].sort());
});

describe.each(templateNames)('%s', (name) => {
  test('is valid, and its cases pass', async () => {
    const { run, written } = await write(name);
    expect(written.code).toBe(0);
    expect((await run('check')).stdout).toContain('stopgate.yaml is valid: 1 policy (default)');
    const { code, stdout } = await run('test');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^[2-9] passed, 0 failed$/m) });
  });

  test('its cases are about this policy: without its checks they fail', async () => {
    const { cwd, run } = await write(name);
    writeFileSync(join(cwd, 'stopgate.yaml'), 'policies: { default: {} }\n');
    expect((await run('test')).code).toBe(1);
  });

  test('is on the page as it is, with the names of its cases', () => {
    const read = (file: string) => readFileSync(join(root, 'templates', name, file), 'utf8');
    const rules = read('stopgate.yaml')
      .replace(/^# yaml-language-server.*\n/, '')
      .trimEnd();
    expect(page.fences.filter(({ text }) => text === rules)).toHaveLength(1);
    const { cases } = parse(read('stopgate.test.yaml')) as { cases: { name: string }[] };
    expect(page.text).toContain(cases.map((each) => `- ${each.name}\n`).join(''));
    expect(page.text).toContain(templates[name]);
  });
});

test("the project's own test command takes the place of npm's", async () => {
  const { cwd } = await openTerminal();
  writeFileSync(join(cwd, 'Cargo.toml'), '[package]\n');
  const { stderr } = await runOnce(['init', '--policy', 'ralph-loop'], { cwd });
  expect(stderr).toContain('"tests" in stopgate.yaml is cargo test (Cargo.toml)');
  const { commands } = parse(readFileSync(join(cwd, 'stopgate.yaml'), 'utf8')) as {
    commands: { tests: { run: unknown } };
  };
  expect(commands.tests.run).toEqual(['cargo', 'test']);
});

test('review brings the program that it runs', async () => {
  const { cwd } = await write('review');
  expect(readFileSync(join(cwd, 'judge-cli.mjs'), 'utf8')).toBe(
    readFileSync(join(root, 'docs/examples/judge-cli.mjs'), 'utf8'),
  );
});

test('nothing is overwritten, and --dry-run writes nothing', async () => {
  const { cwd, run } = await write('tests', '--dry-run');
  expect(readdirSync(cwd)).toEqual([]);
  writeFileSync(join(cwd, 'stopgate.test.yaml'), 'mine');
  const { code, stderr } = await run('init', '--policy', 'tests');
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("'stopgate.test.yaml' already exists; nothing was written"),
  });
  expect(existsSync(join(cwd, 'stopgate.yaml'))).toBe(false);
});

test.each([
  [['--policy', 'nosuch'], "there is no policy 'nosuch' to start from; use one of: tests, plan, ralph-loop"],
  [['--policy', 'tests', '--remove'], '--remove needs the name of an agent'],
])('init %s is refused', async (argv, says) => {
  expect(await runOnce(['init', ...argv])).toMatchObject({ code: 2, stderr: expect.stringContaining(says) });
});
