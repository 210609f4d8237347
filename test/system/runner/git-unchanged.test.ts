/** `git: { unchanged: […] }` finds changes of protected files, even if an agent hides them. */
import { appendFile, chmod, mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runRequestSchema } from '../../../src/host/effects/run-request.ts';
import { createRepository, sha256 } from '../../integration/runner/repository.ts';

const pass = { outcome: 'pass' };
const changed = (names: string) => ({ outcome: 'fail', reason: `Changed files that must stay: ${names}` });
const unchanged = ['tests/**', '*.lock'];

const names = ['tests/a.js', 'tests/b.js', 'src/a.js'];
const files = Object.fromEntries(names.map((name) => [name, `// ${name}\n`]));

async function createProject({ pushed = true } = {}) {
  const project = await createRepository({ files, pushed });
  const { cwd, git } = project;
  const edit = (name: string) => appendFile(join(cwd, name), '// edited\n');
  const commit = async () => {
    await git('add', '-A');
    await git('commit', '-qm', 'more');
  };
  return { ...project, edit, commit, ask: (more: object = {}) => project.ask({ unchanged, ...more }) };
}

test('other files may change in any way', async () => {
  const { ask, edit, commit, cwd } = await createProject();
  expect(await ask()).toMatchObject(pass);
  await edit('src/a.js');
  await writeFile(join(cwd, 'src/new.js'), '');
  expect(await ask()).toMatchObject(pass);
  await commit();
  await rm(join(cwd, 'src/new.js'));
  expect(await ask()).toMatchObject(pass);
});

test.each<{ where: string; names: string; change(it: Awaited<ReturnType<typeof createProject>>): Promise<unknown> }>([
  { where: 'in the work tree', names: 'tests/a.js', change: ({ edit }) => edit('tests/a.js') },
  { where: 'in the work tree, deleted', names: 'tests/b.js', change: ({ cwd }) => rm(join(cwd, 'tests/b.js')) },
  {
    where: 'in the index alone',
    names: 'tests/a.js',
    async change({ cwd, edit, git }) {
      await edit('tests/a.js');
      await git('add', '.');
      await writeFile(join(cwd, 'tests/a.js'), '// tests/a.js\n');
    },
  },
  {
    where: 'in a commit that the work tree undoes',
    names: 'tests/a.js',
    async change({ cwd, edit, commit }) {
      await edit('tests/a.js');
      await commit();
      await writeFile(join(cwd, 'tests/a.js'), '// tests/a.js\n');
    },
  },
  { where: 'untracked', names: 'yarn.lock', change: ({ cwd }) => writeFile(join(cwd, 'yarn.lock'), '') },
  {
    where: 'untracked in a new folder',
    names: 'tests/new/c.js',
    async change({ cwd }) {
      await mkdir(join(cwd, 'tests/new'));
      await writeFile(join(cwd, 'tests/new/c.js'), '');
    },
  },
  {
    where: 'renamed, both names',
    names: 'tests/a.js, tests/z.js',
    async change({ cwd, commit }) {
      await rename(join(cwd, 'tests/a.js'), join(cwd, 'tests/z.js'));
      await commit();
    },
  },
  {
    where: 'made executable in a commit',
    names: 'tests/a.js',
    async change({ cwd, commit }) {
      await chmod(join(cwd, 'tests/a.js'), 0o755);
      await commit();
    },
  },
  {
    where: 'three of them',
    names: 'a.lock, tests/a.js, tests/b.js',
    async change({ cwd, edit }) {
      for (const name of ['tests/b.js', 'tests/a.js']) await edit(name);
      await writeFile(join(cwd, 'a.lock'), '');
    },
  },
  {
    where: 'four of them',
    names: 'a.lock, b.lock, tests/a.js, …',
    async change({ cwd, edit }) {
      for (const name of ['tests/b.js', 'tests/a.js']) await edit(name);
      for (const name of ['a.lock', 'b.lock']) await writeFile(join(cwd, name), '');
    },
  },
])('$where: $names', async ({ names, change }) => {
  const project = await createProject();
  await change(project);
  expect(await project.ask()).toMatchObject(changed(names));
});

describe('files are compared with', () => {
  test('the merge base with the upstream, so that commits of others do not count', async () => {
    const { ask, edit, commit, git, gitIn, root } = await createProject();
    const other = join(root, 'other');
    await git('clone', '-q', join(root, 'remote.git'), other);
    await appendFile(join(other, 'tests/a.js'), '// by another\n');
    await gitIn(other)('commit', '-qam', 'theirs');
    await gitIn(other)('push', '-q');
    await git('fetch', '-q');
    await edit('src/a.js');
    await commit();
    expect(await ask()).toMatchObject(pass);
    expect(await ask({ since: 'origin/main' })).toMatchObject(changed('tests/a.js'));
    await git('pull', '-q', '--rebase');
    expect(await ask()).toMatchObject(pass);
    await edit('tests/b.js');
    await commit();
    expect(await ask()).toMatchObject(changed('tests/b.js'));
  });

  test('HEAD if there is no upstream or HEAD is detached', async () => {
    const { ask, edit, commit, git } = await createProject({ pushed: false });
    await edit('tests/a.js');
    await commit();
    expect(await ask()).toMatchObject(pass);
    expect(await ask({ since: 'HEAD~1' })).toMatchObject(changed('tests/a.js'));
    await git('checkout', '-q', '--detach');
    await edit('tests/a.js');
    expect(await ask()).toMatchObject(changed('tests/a.js'));
  });

  test('nothing before the first commit, so that every such file is new', async () => {
    const { ask } = await createRepository({ files: { 'a.lock': '' }, commit: false });
    expect(await ask({ unchanged })).toMatchObject(changed('a.lock'));
    expect(await ask({ unchanged: ['*.md'] })).toMatchObject(pass);
  });

  test('a given commit, branch or tag', async () => {
    const { ask, edit, commit, git } = await createProject();
    const first = (await git('rev-parse', 'HEAD')).stdout.trim();
    await git('tag', 'v1');
    await git('branch', 'start');
    await edit('tests/a.js');
    await commit();
    await git('push', '-q');
    expect(await ask()).toMatchObject(pass);
    for (const since of [first, 'v1', 'start', 'refs/heads/start'])
      expect(await ask({ since })).toMatchObject(changed('tests/a.js'));
  });

  test('an unknown revision is an error, and never read as an option of git', async () => {
    const { ask } = await createProject();
    expect(await ask({ since: 'nowhere' })).toMatchObject({
      outcome: 'error',
      reason: 'git: there is no commit "nowhere"',
    });
    const request = { kind: 'git', unchanged, since: '--output=/tmp/x' };
    expect(runRequestSchema.safeParse(request).error?.issues[0]?.message).toBe('a ref does not begin with -');
  });
});

test('the report is combined with those of other conditions', async () => {
  const { ask, edit } = await createProject();
  await edit('tests/a.js');
  expect(await ask({ clean: true })).toMatchObject({
    outcome: 'fail',
    reason: 'Uncommitted changes: tests/a.js; Changed files that must stay: tests/a.js',
  });
});

describe('a change is found although an agent hides it', () => {
  type Project = Awaited<ReturnType<typeof createProject>>;
  const hides: { by: string; hide(it: Project): Promise<unknown>; isPlainGitFooled?: false }[] = [
    {
      by: 'assume-unchanged',
      async hide({ edit, git }) {
        await git('update-index', '--assume-unchanged', 'tests/a.js');
        await edit('tests/a.js');
      },
    },
    {
      by: 'times that git trusts',
      async hide({ cwd, git }) {
        const path = join(cwd, 'tests/a.js');
        await utimes(path, 1_000_000, 1_000_000);
        await git('config', 'core.trustctime', 'false');
        await git('config', 'core.checkStat', 'minimal');
        await git('update-index', '--refresh');
        const { size } = await stat(path);
        await writeFile(path, (await readFile(path, 'utf8')).replace('tests', 'stset'));
        expect((await stat(path)).size).toBe(size);
        await utimes(path, 1_000_000, 1_000_000);
      },
    },
    {
      by: 'an object in place of another',
      async hide({ edit, commit, git }) {
        const before = (await git('rev-parse', 'HEAD')).stdout.trim();
        await edit('tests/a.js');
        await commit();
        await git('replace', before, 'HEAD');
      },
      isPlainGitFooled: false,
    },
    {
      by: 'a folder that is a symlink',
      async hide({ cwd, root }) {
        await rename(join(cwd, 'tests'), join(root, 'elsewhere'));
        await symlink(join(root, 'elsewhere'), join(cwd, 'tests'));
      },
      isPlainGitFooled: false,
    },
    {
      by: 'a symlink to the same contents',
      async hide({ cwd, root }) {
        await rename(join(cwd, 'tests/a.js'), join(root, 'a.js'));
        await symlink(join(root, 'a.js'), join(cwd, 'tests/a.js'));
      },
      isPlainGitFooled: false,
    },
    {
      by: 'skip-worktree',
      async hide({ edit, git }) {
        await git('update-index', '--skip-worktree', 'tests/a.js');
        await edit('tests/a.js');
      },
    },
  ];
  test.each(hides)('by $by', async ({ hide, isPlainGitFooled = true }) => {
    const project = await createProject();
    await hide(project);
    if (isPlainGitFooled) expect((await project.git('status', '--porcelain')).stdout).toBe('');
    expect((await project.ask()).reason).toMatch(/^Changed files that must stay: tests/);
  });
});

describe('does not count as a change', () => {
  test('a file that a sparse checkout leaves out', async () => {
    const { ask, cwd, git } = await createProject();
    await git('update-index', '--refresh'); // sparse-checkout does not remove files that look changed
    await git('sparse-checkout', 'set', '--no-cone', '/src/');
    await expect(stat(join(cwd, 'tests/a.js'))).rejects.toThrow();
    expect(await ask()).toMatchObject(pass);
  });

  test('line ends that git converts, and a git-lfs file', async () => {
    const { ask, cwd, git, commit } = await createProject();
    const content = 'large\n';
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256(content)}\nsize ${content.length}\n`;
    await writeFile(join(cwd, '.gitattributes'), 'tests/*.js text\n');
    await writeFile(join(cwd, 'tests/large.bin'), pointer);
    await commit();
    await git('push', '-q');
    await writeFile(join(cwd, '.gitattributes'), 'tests/*.js text\n*.bin filter=lfs\n');
    await writeFile(join(cwd, 'tests/large.bin'), content);
    await writeFile(join(cwd, 'tests/a.js'), '// tests/a.js\r\n');
    expect(await ask()).toMatchObject(pass);
    await writeFile(join(cwd, 'tests/large.bin'), 'LARGE\n');
    expect(await ask()).toMatchObject(changed('tests/large.bin'));
  });

  test('ignored files, an unchanged symlink, and names with line breaks and quotes', async () => {
    const { ask, cwd, git, commit } = await createProject();
    const odd = 'tests/an "odd"\nname\\.js';
    await writeFile(join(cwd, odd), 'odd\r\n');
    await symlink('a.js', join(cwd, 'tests/link.js'));
    await writeFile(join(cwd, '.gitignore'), '*.log\n');
    await writeFile(join(cwd, '.gitattributes'), '*.js text\n');
    await commit();
    await git('push', '-q');
    await writeFile(join(cwd, 'tests/run.log'), 'ran\n');
    expect(await ask()).toMatchObject(pass);
    await appendFile(join(cwd, odd), 'edited\n');
    expect(await ask()).toMatchObject(changed(odd));
  });
});
