/** `reuse: tree` reuses a pass while the git state of the folder and the command are the same. */
import { chmod, mkdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CommandConfig } from '../../../src/config/file.ts';
import { createRepository } from '../../integration/runner/repository.ts';
import { createWorkspace, sh } from '../../integration/runner/workspace.ts';

/** Records each run in a file outside of the repository, and passes unless the file `red` exists. */
const command = (root: string, more: Partial<CommandConfig> = {}) =>
  sh(`echo ran >> '${root}/runs'; ! test -e red`, { reuse: 'tree', ...more });

async function createProject() {
  const project = await createRepository();
  const { root, cwd, runner, env } = project;
  const settings = { roots: ['.'], baseDir: root, env };
  const configure = (more: Partial<CommandConfig> = {}) =>
    runner.configure({ ...settings, commands: { tests: command(root, more), others: command(root, more) } });
  configure();
  const runs = async () => (await readFile(join(root, 'runs'), 'utf8')).trim().split('\n').length;
  await writeFile(join(cwd, '.gitignore'), '*.log\n');
  const put = (name: string, text: string) => writeFile(join(cwd, name), text);
  return { ...project, configure, runs, put, run: () => project.command('tests') };
}
const taken = { outcome: 'pass', metadata: { reused: expect.stringMatching(/^\d{4}-.*Z$/) } };

test('the second result is the first one, with its time', async () => {
  const { run, runs } = await createProject();
  const before = Date.now();
  const first = await run();
  expect([first.outcome, first.metadata?.reused]).toEqual(['pass', undefined]);
  const again = await run();
  expect(again).toMatchObject(taken);
  expect(Date.parse(again.metadata?.reused as string)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(again.metadata?.reused as string)).toBeLessThanOrEqual(Date.now());
  expect(await runs()).toBe(1);
});

type Project = Awaited<ReturnType<typeof createProject>>;
const changes: { what: string; change(it: Project): Promise<unknown> }[] = [
  { what: 'a tracked file', change: ({ put }) => put('kept.txt', 'edited\n') },
  { what: 'an untracked file', change: ({ put }) => put('new.txt', '') },
  {
    what: 'the contents of an untracked file',
    async change({ put, run }) {
      await put('new.txt', 'one');
      await run();
      await run();
      await put('new.txt', 'two');
    },
  },
  {
    what: 'the index alone',
    async change({ git }) {
      await git('update-index', '--chmod=+x', 'kept.txt');
    },
  },
  { what: 'the commit alone', change: ({ git }) => git('commit', '-q', '--allow-empty', '-m', 'empty') },
  { what: 'the branch', change: ({ git }) => git('checkout', '-q', '-b', 'other') },
  { what: 'a mode', change: ({ cwd }) => chmod(join(cwd, 'kept.txt'), 0o755) },
  { what: 'a link', change: ({ cwd }) => symlink('kept.txt', join(cwd, 'link')) },
  {
    what: 'a file, with times and flags that git trusts',
    async change({ cwd, git, put }) {
      const path = join(cwd, 'kept.txt');
      await git('update-index', '--assume-unchanged', 'kept.txt');
      const { atime, mtime } = await stat(path);
      await put('kept.txt', 'tpek\n');
      await utimes(path, atime, mtime);
    },
  },
  { what: 'the command', change: async ({ configure }) => configure({ env: { MODE: 'strict' } }) },
  { what: 'the configuration, to the same', change: async ({ configure }) => configure() },
];
// The changes follow each other in one project: the pass before each change must not be reused after it.
test('it runs again after each change', async () => {
  const project = await createProject();
  await project.run();
  for (const { what, change } of changes) {
    await change(project);
    const before = await project.runs();
    expect((await project.run()).metadata?.reused, what).toBeUndefined();
    expect(await project.runs(), what).toBe(before + 1);
  }
});

test('a pass is reused when its state comes back after another one', async () => {
  const { run, runs, put } = await createProject();
  await run();
  await put('kept.txt', 'edited\n');
  await run();
  await put('kept.txt', 'kept\n');
  expect(await run()).toMatchObject(taken);
  await put('out.log', 'ignored');
  expect(await run()).toMatchObject(taken);
  expect(await runs()).toBe(2);
});

test('failures are never reused', async () => {
  const { run, runs, put } = await createProject();
  await put('red', '');
  for (let times = 0; times < 2; times += 1) expect(await run()).toMatchObject({ outcome: 'fail' });
  expect(await runs()).toBe(2);
});

test('a pass is not reused by another command, or without reuse', async () => {
  const { command: ask, configure, run, runs } = await createProject();
  await run();
  expect((await ask('others')).metadata?.reused).toBeUndefined();
  configure({ reuse: undefined });
  for (let times = 0; times < 2; times += 1) expect((await run()).metadata?.reused).toBeUndefined();
  expect(await runs()).toBe(4);
});

test('the result of a run that changes its folder is not reused', async () => {
  const { command: ask, root, runner, env } = await createProject();
  const commands = { tests: sh('date +%N > made.txt', { reuse: 'tree' }) };
  runner.configure({ roots: ['.'], baseDir: root, env, commands });
  for (let times = 0; times < 2; times += 1) expect((await ask('tests')).metadata?.reused).toBeUndefined();
});

test('outside git, or in a folder that contains another repository, it runs', async () => {
  const { command: ask, runner, root, cwd } = await createWorkspace();
  runner.configure({ roots: ['.'], baseDir: root, env: {}, commands: { tests: command(root) } });
  for (let times = 0; times < 2; times += 1)
    expect(await ask('tests')).toEqual({ outcome: 'pass', tookMs: expect.any(Number) });
  await mkdir(join(cwd, 'red-herring'));
  const project = await createProject();
  const inner = join(project.cwd, 'inner');
  await mkdir(inner);
  await project.gitIn(inner)('init', '-q');
  await writeFile(join(inner, 'a'), '');
  for (let times = 0; times < 2; times += 1) expect((await project.run()).metadata?.reused).toBeUndefined();
});

test('a pass is reused only for the same task', async () => {
  const { command, runs } = await createProject();
  for (const task of ['T-1', 'T-2', 'T-1']) await command('tests', { env: { task } });
  expect(await runs()).toBe(2);
});
