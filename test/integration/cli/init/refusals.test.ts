/** `stopgate init` refuses to change some files, and asks before it writes. */
import { chmod, mkdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { isGone, place } from './place.ts';

describe('refuses, and changes nothing', () => {
  test('a read-only file, a folder instead of the file, a file instead of its folder', async () => {
    const { init, read, put, cwd } = await place();
    await chmod(await put('.claude/settings.json', '{}'), 0o444);
    const { code, stderr } = await init('claude', '--yes');
    expect(code).toBe(2);
    expect(stderr).toContain('is read-only');
    expect(await read('.claude/settings.json')).toBe('{}');
    await put('.gemini', '');
    expect(await init('gemini', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a part of the path is a file'),
    });
    await mkdir(join(cwd, '.cursor/hooks.json'), { recursive: true });
    expect(await init('cursor', '--yes')).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a file') });
  });

  test.each([
    ['broken JSON', '{\n  "a": 1,\n  "b" 2\n}', ':3:7: colon expected'],
    ['hooks that are no object', '{ "hooks": [] }', ':1:12: "hooks" is not an object'],
    ['an event that is not a list', '{ "hooks": {\n "Stop": {} } }', ':2:10: "hooks.Stop" is not a list'],
    ['a key twice', '{ "hooks": {},\n  "hooks": {} }', ':2:3: the key "hooks" appears twice'],
    ['a list', '[]', ':1:1: it is not a JSON object'],
    ['an empty file', '', ':1:1: '],
  ])('%s', async (_what, text, says) => {
    const { init, read, put } = await place();
    await put('.claude/settings.json', text);
    const { code, stdout, stderr } = await init('claude', '--yes');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`.claude/settings.json${says}`);
    expect(await read('.claude/settings.json')).toBe(text);
  });

  test('a link out of the project', async () => {
    const { init, cwd, put } = await place();
    const elsewhere = await place();
    const target = await elsewhere.put('settings.json', '{}');
    await put('.claude/x', '');
    await symlink(target, join(cwd, '.claude/settings.json'));
    const { code, stderr } = await init('claude', '--yes');
    expect(code).toBe(2);
    expect(stderr).toContain(`is a link to '${target}'`);
    expect(await elsewhere.read('settings.json')).toBe('{}');
  });

  test.each([['--remove'], ['--usage'], ['--block-cap', '3']])(
    'shell, which has no settings: %s',
    async (...options) => {
      const { init } = await place();
      const says = `stopgate: ${options[0]} does not apply to shell: init only prints a command and changes no settings\n`;
      expect(await init('shell', ...options)).toMatchObject({ code: 2, stdout: '', stderr: says });
    },
  );

  test('without a terminal, unless --yes is given', async () => {
    const { init, read } = await place();
    const { code, stdout, stderr } = await init('claude');
    expect(code).toBe(2);
    expect(stdout).toContain('.claude/settings.json (new): ');
    expect(stderr).toContain('--yes');
    await isGone(read('.claude/settings.json'));
  });

  test.each([
    [['claude', '--project', '--user'], '--project and --user cannot be used together'],
    [['codex', '--project'], "only in the user's settings"],
    [['claude', '--form', 'http', '--on-unreachable', 'block'], 'needs --form command'],
    [['codex', '--form', 'http'], 'does not support --form http'],
    [['claude', '--policy', 'a b'], 'is not the id of a policy'],
    [['codex', '--block-cap', '9'], '--block-cap is only for claude and qwen; to change the cap of codex, see'],
    [['claude', '--block-cap', 'many'], 'is not a whole number'],
    [['qwen', '--block-cap', '0'], 'is not a whole number from 1 to 99'],
    [['qwen', '--block-cap', '100'], 'is not a whole number from 1 to 99'],
    [['codex', '--wake'], '--wake is only for claude'],
    [['claude', '--http', 'off'], 'hooks need it'],
    [['gemini', '--form', 'curl', '--token-env', 'T'], 'would show the token'],
    [['nobody'], "unknown agent 'nobody'; use one of: claude, codex"],
  ])('%s', async (argv, says) => {
    const { init } = await place();
    const { code, stderr } = await init(...argv, '--yes');
    expect(stderr).toContain(says);
    expect(code).toBe(2);
  });
});

test('on a terminal, it asks and accepts only yes', async () => {
  for (const [answer, code] of [
    ['n', 2],
    ['y', 0],
  ] as const) {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    stdin.end(`${answer}\n`);
    const { init, read } = await place({ isTTY: true, stdin });
    expect(await init('claude')).toMatchObject({ code, stderr: expect.stringContaining('Make this change? [y/N]') });
    if (code === 0) expect(await read('.claude/settings.json')).toContain('/hooks/claude');
    else await isGone(read('.claude/settings.json'));
  }
});

test('a link within the project is followed, and the mode of the file is kept', async () => {
  const { init, cwd, put, read } = await place();
  const target = await put('dotfiles/claude.json', '{}\n');
  await chmod(target, 0o600);
  await put('.claude/x', '');
  await symlink(target, join(cwd, '.claude/settings.json'));
  expect((await init('claude', '--yes')).stdout).toContain(`(a link to ${target})`);
  expect(await read('dotfiles/claude.json')).toContain('/hooks/claude');
  expect((await stat(target)).mode & 0o777).toBe(0o600);
});

test('--dry-run and --json write nothing', async () => {
  const { init, read } = await place();
  const { code, stdout } = await init('claude', '--dry-run', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ agent: 'claude', scope: 'project', changed: true, dryRun: true });
  await isGone(read('.claude/settings.json'));
});
