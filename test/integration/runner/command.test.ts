/** Commands, with real programs: exit codes, working directory and environment. */
import { mkdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createWorkspace, node, sh } from './workspace.ts';

describe('the end of a command', () => {
  test.each([
    { source: 'exit 0', expected: { outcome: 'pass' } },
    { source: 'exit 1', expected: { outcome: 'fail', reason: 'Command check failed (exit 1)' } },
    { source: 'exit 2', expected: { outcome: 'fail', reason: 'Command check failed (exit 2)' } },
    { source: 'exit 255', expected: { outcome: 'fail', reason: 'Command check failed (exit 255)' } },
    {
      source: 'exit 126',
      expected: { outcome: 'error', reason: 'Command check could not be run (exit 126: not executable)' },
    },
    {
      source: 'exit 127',
      expected: { outcome: 'error', reason: 'Command check could not be run (exit 127: not found)' },
    },
    { source: 'kill -SEGV $$', expected: { outcome: 'error', reason: 'Command check was killed by SIGSEGV' } },
  ])('$source is $expected.outcome', async ({ source, expected }) => {
    const { command } = await createWorkspace({ check: sh(source) });
    expect(await command('check')).toEqual({ ...expected, tookMs: expect.any(Number) });
  });

  test('the duration is reported to a tenth of a millisecond', async () => {
    const { command } = await createWorkspace({ check: sh('exit 0') });
    const { tookMs } = await command('check');
    expect(tookMs).toBeGreaterThan(0);
    expect(tookMs).toBe(Number(tookMs.toFixed(1)));
  });
});

describe('a command that cannot run', () => {
  test('a missing program', async () => {
    const { command } = await createWorkspace({
      check: sh('', { feedback: 'tail' }),
      gone: { ...sh(''), run: ['no-such-program-here'] },
    });
    expect(await command('gone')).toMatchObject({
      outcome: 'error',
      reason: 'cannot run no-such-program-here: not found',
    });
    expect(await command('check')).toMatchObject({ outcome: 'pass' });
  });

  test('a file that is not executable', async () => {
    const { command, write } = await createWorkspace({ check: { ...sh(''), run: ['./notes.txt'] } });
    await write('notes.txt', 'no program');
    expect(await command('check')).toMatchObject({ outcome: 'error', reason: 'cannot run ./notes.txt: EACCES' });
  });

  test.each(['other', 'constructor', '__proto__', 'toString'])('an unknown name: %s', async (name) => {
    const { command } = await createWorkspace({ check: sh('exit 0') });
    const reason = `the runner has no command "${name}": define it under commands: in its configuration`;
    expect(await command(name)).toEqual({ outcome: 'error', reason, tookMs: 0 });
  });

  test('an argument with a NUL byte', async () => {
    const { command } = await createWorkspace({ check: { ...sh(''), run: ['sh', '-c', 'exit 0\0'] } });
    expect(await command('check')).toMatchObject({ outcome: 'error', reason: 'cannot run sh: ERR_INVALID_ARG_VALUE' });
  });

  test('refused commands release their slots', async () => {
    const { command } = await createWorkspace(
      { gone: { ...sh(''), run: ['no-such-program-here'] }, check: sh('exit 0') },
      { processesMax: 1 },
    );
    for (const name of ['gone', 'gone', 'check']) await command(name);
    expect(await command('gone', { cwd: null })).toMatchObject({ outcome: 'error' });
    expect(await command('check')).toMatchObject({ outcome: 'pass' });
  });
});

test('arguments are not interpreted by a shell', async () => {
  const { command } = await createWorkspace({ check: { ...sh(''), run: ['echo', '$(exit 3)', '; false', '*'] } });
  expect(await command('check')).toMatchObject({ outcome: 'pass', feedback: '$(exit 3) ; false *' });
});

describe('the environment', () => {
  const check = node('console.log(JSON.stringify(process.env))', { feedback: 'json' });

  test('contains basic variables, the ids and the configured variables, but no secrets', async () => {
    const secrets = {
      STOPGATE_TOKEN: 'secret',
      CI_TOKEN: 'secret',
      AWS_SECRET_ACCESS_KEY: 'secret',
      NODE_OPTIONS: '-h',
    };
    const env = { ...secrets, PATH: '/bin', DATABASE_URL: 'sqlite:', STOPGATE_WORKER: 'old', LANG: undefined };
    const named = { inherit: ['DATABASE_URL', 'JAVA_HOME'], env: { CI: '1' } };
    const { runner, cwd } = await createWorkspace({ check: { ...check, ...named } }, { env });
    const ids = { fleet: 'main', worker: 'w1', task: null, attempt: 'a1' };
    const request = { kind: 'command', name: 'check', cwd, timeoutMs: null, env: ids } as const;
    const result = await runner.run(request, new AbortController().signal);
    expect(result.feedback).toEqual({
      PATH: '/bin',
      DATABASE_URL: 'sqlite:',
      STOPGATE_FLEET: 'main',
      STOPGATE_WORKER: 'w1',
      STOPGATE_ATTEMPT: 'a1',
      CI: '1',
    });
  });
});

describe('where a command runs', () => {
  const pwd = sh('pwd -P');

  test("in the worker's folder", async () => {
    const { command, cwd } = await createWorkspace({ check: pwd });
    expect(await command('check')).toMatchObject({ outcome: 'pass', feedback: cwd });
  });

  test('in a fixed folder, whatever the worker reports', async () => {
    const { command, root } = await createWorkspace({ check: { ...pwd, cwd: 'tools' } }, { roots: [] });
    expect(await command('check', { cwd: null })).toMatchObject({
      outcome: 'error',
      reason: `the command's folder "${join(root, 'tools')}" does not exist`,
    });
    await mkdir(join(root, 'tools'));
    expect(await command('check', { cwd: '/' })).toMatchObject({ outcome: 'pass', feedback: join(root, 'tools') });
  });

  test('through a symlink that stays inside the roots', async () => {
    const { command, root, cwd } = await createWorkspace({ check: pwd });
    await symlink(cwd, join(root, 'link'));
    expect(await command('check', { cwd: join(root, 'link') })).toMatchObject({ outcome: 'pass', feedback: cwd });
  });

  test('in a root that is itself a symlink, or the whole disk', async () => {
    const { command, root, cwd } = await createWorkspace({ check: pwd }, { roots: ['nowhere', 'alias'] });
    await symlink(cwd, join(root, 'alias'));
    expect(await command('check')).toMatchObject({ outcome: 'pass' });
    const all = await createWorkspace({ check: pwd }, { roots: ['/'] });
    expect(await all.command('check')).toMatchObject({ outcome: 'pass' });
  });

  test.each([
    { why: 'a relative one', cwd: () => 'work', words: 'the worker\'s folder "work" is not an absolute path' },
    { why: 'a missing one', cwd: (root: string) => join(root, 'gone'), words: 'does not exist' },
    { why: 'a file', cwd: (root: string) => join(root, 'work', 'file'), words: 'is not a folder' },
    { why: 'one above the roots', cwd: () => tmpdir(), words: 'name it or a folder above it under roots:' },
    {
      why: 'dots that leave',
      cwd: (root: string) => `${join(root, 'work')}/../..`,
      words: "is outside the runner's roots",
    },
    {
      why: 'a sibling with the same beginning',
      cwd: (root: string) => `${root}/work-two`,
      words: "is outside the runner's roots",
    },
    {
      why: 'a symlink that leaves',
      cwd: (root: string) => join(root, 'work', 'out'),
      words: "is outside the runner's roots",
    },
    { why: 'a NUL', cwd: (root: string) => `${root}/work\0`, words: 'cannot be used (ERR_INVALID_ARG_VALUE)' },
    {
      why: 'a very long one',
      cwd: (root: string) => `${root}/${'x'.repeat(5_000)}`,
      words: 'cannot be used (ENAMETOOLONG)',
    },
  ])('nowhere with $why', async ({ cwd, words }) => {
    const { command, files, root, write } = await createWorkspace({ check: pwd }, { roots: ['work'] });
    await write('file', '');
    await mkdir(join(root, 'work-two'));
    await symlink(root, join(root, 'work', 'out'));
    for (const result of [await command('check', { cwd: cwd(root) }), await files(['file'], { cwd: cwd(root) })]) {
      expect(result).toMatchObject({ outcome: 'error', reason: expect.stringContaining(words) });
      expect(result.reason?.length).toBeLessThan(600);
    }
  });

  test('in the folder of the configuration if the worker reports none', async () => {
    const { command, files, root, write } = await createWorkspace({ check: pwd });
    await write('../file', '');
    expect(await command('check', { cwd: null })).toMatchObject({ outcome: 'pass', feedback: root });
    expect(await files(['file'], { cwd: null })).toMatchObject({ outcome: 'pass' });
  });
});
