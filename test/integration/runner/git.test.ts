/** The `git` check with real repositories: uncommitted changes, unpushed commits, and errors. */
import { appendFile, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { GitConfig } from '../../../src/config/file.ts';
import { createRepository, createSubmodule, sha256 } from './repository.ts';

describe('clean', () => {
  test('passes if everything is committed', async () => {
    const { ask } = await createRepository();
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'pass' });
  });

  test('names up to three changed, staged, renamed or untracked files', async () => {
    const { ask, cwd, git } = await createRepository();
    await git('mv', 'kept.txt', 'moved.txt');
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail', reason: 'Uncommitted changes: moved.txt' });
    for (const name of ['a b.txt', 'c.txt', 'd.txt']) await writeFile(join(cwd, name), name);
    expect(await ask({ clean: true })).toMatchObject({
      outcome: 'fail',
      reason: 'Uncommitted changes: moved.txt, a b.txt, c.txt, …',
    });
  });

  test('a rename in the index or the work tree counts as one file', async () => {
    const { ask, cwd, git } = await createRepository();
    await rename(join(cwd, 'kept.txt'), join(cwd, 'moved.txt'));
    await git('add', '--intent-to-add', 'moved.txt');
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail', reason: 'Uncommitted changes: moved.txt' });
  });

  test("the repository's settings for ignored files and line endings apply", async () => {
    const { ask, cwd, git } = await createRepository();
    await writeFile(join(cwd, '.git', 'info', 'exclude'), '*.log\n');
    await writeFile(join(cwd, 'debug.log'), 'ignored');
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'pass' });
    await writeFile(join(cwd, 'kept.txt'), 'kept\r\n');
    await git('-c', 'core.autocrlf=true', 'add', 'kept.txt');
    await utimes(join(cwd, 'kept.txt'), 1, 1);
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail', reason: 'Uncommitted changes: kept.txt' });
    await git('config', 'core.autocrlf', 'true');
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'pass' });
  });

  test('a linked worktree is a repository too', async () => {
    const { ask, cwd, root, git } = await createRepository();
    const linked = join(root, 'linked');
    await git('worktree', 'add', '-q', linked, '-b', 'other');
    expect(await ask({ clean: true }, { cwd: linked })).toMatchObject({ outcome: 'pass' });
    await writeFile(join(linked, 'new.txt'), '');
    expect(await ask({ clean: true, pushed: true }, { cwd: linked })).toMatchObject({
      outcome: 'fail',
      reason: 'Uncommitted changes: new.txt; Branch other has no upstream',
    });
    expect(await ask({ clean: true }, { cwd })).toMatchObject({ outcome: 'pass' });
  });

  describe('untracked work', () => {
    const ignored = (git: Partial<GitConfig>) =>
      createRepository({ git: { untracked: 'count', worktrees: 'count', ...git } });
    const uncommitted = (reason: string) => ({ outcome: 'fail', reason: `Uncommitted changes: ${reason}` });

    test('does not count with untracked: ignore; tracked files do', async () => {
      const { ask, cwd, git } = await ignored({ untracked: 'ignore' });
      await writeFile(join(cwd, 'new.txt'), '');
      expect(await ask({ clean: true })).toMatchObject({ outcome: 'pass' });
      await git('add', 'new.txt');
      expect(await ask({ clean: true })).toMatchObject(uncommitted('new.txt'));
    });

    test('a nested worktree counts unless worktrees: ignore; files beside it always do', async () => {
      for (const worktrees of ['count', 'ignore'] as const) {
        const { ask, cwd, git } = await ignored({ worktrees });
        await git('worktree', 'add', '-q', '.agents/trees/one');
        const found = await ask({ clean: true });
        expect(found).toMatchObject(worktrees === 'count' ? uncommitted('.agents/') : { outcome: 'pass' });
        await writeFile(join(cwd, '.agents/notes.txt'), '');
        const beside = worktrees === 'count' ? '.agents/' : '.agents/notes.txt';
        expect(await ask({ clean: true })).toMatchObject(uncommitted(beside));
      }
    });

    test('worktrees: ignore does not ignore other repositories, even those that claim to be a worktree', async () => {
      const { ask, cwd, git, gitIn } = await ignored({ worktrees: 'ignore' });
      await mkdir(join(cwd, 'other'));
      await gitIn(join(cwd, 'other'))('init', '-q');
      expect(await ask({ clean: true })).toMatchObject(uncommitted('other/'));
      await rm(join(cwd, 'other'), { recursive: true });
      await git('worktree', 'add', '-q', 'tree');
      await mkdir(join(cwd, 'fake'));
      await writeFile(join(cwd, 'fake/.git'), `gitdir: ${join(cwd, '.git/worktrees/tree')}\n`);
      await writeFile(join(cwd, 'fake/work.txt'), '');
      expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail' });
    });
  });

  test('before the first commit all files are uncommitted', async () => {
    const { ask, cwd } = await createRepository({ commit: false });
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail', reason: 'Uncommitted changes: kept.txt' });
    expect(await ask({ clean: true }, { cwd: join(cwd, '.git') })).toMatchObject({ outcome: 'error' });
  });

  test('names a submodule with uncommitted work or with a new commit', async () => {
    const { ask, cwd, git, root } = await createRepository();
    const inside = await createSubmodule({ root, cwd, git });
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'pass' });
    await writeFile(join(cwd, 'sub', 'new.txt'), '');
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail', reason: 'Uncommitted changes: sub' });
    await inside('add', '.');
    await inside('commit', '-qm', 'in the submodule');
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail', reason: 'Uncommitted changes: sub' });
    await git('commit', '-qam', 'the submodule has moved on');
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'pass' });
  });

  /** The lfs filter is not run: the file is compared with the hash in its pointer. */
  describe('a file under git-lfs', () => {
    async function createLfs() {
      const repository = await createRepository();
      const { cwd, git } = repository;
      const big = join(cwd, 'big.bin');
      const text = 'large file\n';
      const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256(text)}\nsize ${text.length}\n`;
      await writeFile(join(cwd, '.gitattributes'), '*.bin filter=lfs -text\n');
      await writeFile(big, pointer);
      await git('-c', 'filter.lfs.clean=cat', 'add', '.');
      await git('commit', '-qm', 'large');
      // The file's times differ from the index, so git cannot tell without the filter whether it is unchanged.
      await writeFile(big, text);
      await utimes(big, 1, 1);
      return { ...repository, big };
    }

    test('is unchanged if its hash matches the index', async () => {
      const { ask } = await createLfs();
      expect(await ask({ clean: true })).toMatchObject({ outcome: 'pass' });
    });

    test('is changed if its content is', async () => {
      const { ask, big } = await createLfs();
      await writeFile(big, 'LARGE file\n');
      expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail', reason: 'Uncommitted changes: big.bin' });
      await appendFile(big, 'longer');
      expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail', reason: 'Uncommitted changes: big.bin' });
    });
  });
});

describe('pushed', () => {
  test('passes if the upstream has every commit', async () => {
    const { ask } = await createRepository({ pushed: true });
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'pass' });
  });

  test('counts the commits that the upstream does not have', async () => {
    const { ask, git } = await createRepository({ pushed: true });
    await git('commit', '-q', '--allow-empty', '-m', 'second');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'fail', reason: '1 commit not pushed' });
    await git('commit', '-q', '--allow-empty', '-m', 'third');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'fail', reason: '2 commits not pushed' });
  });

  test('both failures are reported', async () => {
    const { ask, cwd, git } = await createRepository({ pushed: true });
    await git('commit', '-q', '--allow-empty', '-m', 'second');
    await writeFile(join(cwd, 'new.txt'), '');
    expect(await ask({ clean: true, pushed: true })).toMatchObject({
      outcome: 'fail',
      reason: 'Uncommitted changes: new.txt; 1 commit not pushed',
    });
  });

  test('a branch is pushed if a remote has it under any name', async () => {
    const { ask, git } = await createRepository({ pushed: true });
    await git('switch', '-qc', 'feature/x', 'origin/main'); // its upstream is origin/main
    await git('commit', '-q', '--allow-empty', '-m', 'second');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'fail', reason: '1 commit not pushed' });
    await git('push', '-q', 'origin', 'HEAD:agent/x');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'pass' });
    await git('branch', '-q', '--unset-upstream');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'pass' });
  });

  test('a local upstream branch does not count as pushed', async () => {
    const { ask, git } = await createRepository({ pushed: true });
    await git('commit', '-q', '--allow-empty', '-m', 'second');
    await git('switch', '-q', '--track=direct', '-c', 'local', 'main');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'fail', reason: '1 commit not pushed' });
  });

  test('a branch without an upstream is not pushed if no remote has its commits', async () => {
    const { ask, cwd, git } = await createRepository({ pushed: true });
    await git('switch', '-qc', 'feature/x');
    await git('commit', '-q', '--allow-empty', '-m', 'second');
    expect(await ask({ pushed: true })).toMatchObject({
      outcome: 'fail',
      reason: 'Branch feature/x has no upstream',
    });
    await writeFile(join(cwd, 'new.txt'), '');
    expect(await ask({ clean: true, pushed: true })).toMatchObject({
      outcome: 'fail',
      reason: 'Uncommitted changes: new.txt; Branch feature/x has no upstream',
    });
  });

  test('a branch is not pushed if its upstream is gone or it has no commit', async () => {
    const { ask, git } = await createRepository({ pushed: true });
    await git('update-ref', '-d', 'refs/remotes/origin/main');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'fail', reason: 'Branch main has no upstream' });
    await git('switch', '-q', '--orphan', 'empty');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'fail', reason: 'Branch empty has no upstream' });
  });

  test('a detached HEAD is pushed if a remote has the commit', async () => {
    const { ask, git } = await createRepository({ pushed: true });
    await git('checkout', '-q', '--detach');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'pass' });
    await git('commit', '-q', '--allow-empty', '-m', 'second');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'fail', reason: '1 commit not pushed' });
  });
});

describe('the result is an error', () => {
  test('for a detached HEAD without a remote, but a failure of another aspect still counts', async () => {
    const { ask, cwd, git } = await createRepository();
    await git('checkout', '-q', '--detach');
    expect(await ask({ pushed: true })).toMatchObject({ outcome: 'error' });
    expect(await ask({ clean: true, pushed: true })).toMatchObject({ outcome: 'error' });
    await writeFile(join(cwd, 'new.txt'), '');
    expect(await ask({ clean: true, pushed: true })).toMatchObject({
      outcome: 'fail',
      reason: 'Uncommitted changes: new.txt',
    });
  });

  test('in a bare repository', async () => {
    const { ask, root } = await createRepository({ pushed: true });
    const { outcome, reason } = await ask({ clean: true }, { cwd: join(root, 'remote.git') });
    expect(outcome).toBe('error');
    expect(reason).toContain('bare repository');
  });

  test.each(['file', 'symlink'] as const)('where .git is a %s that points to a bare repository', async (form) => {
    const { ask, root, cwd } = await createRepository({ pushed: true });
    await rm(join(cwd, '.git'), { recursive: true });
    const bare = join(root, 'remote.git');
    await (form === 'file' ? writeFile(join(cwd, '.git'), `gitdir: ${bare}\n`) : symlink(bare, join(cwd, '.git')));
    const reason = `git: "${bare}" is a bare repository and has no work tree`;
    expect(await ask({ clean: true, pushed: true })).toMatchObject({ outcome: 'error', reason });
    expect(await ask({ clean: true }, { cwd: bare })).toMatchObject({ outcome: 'error', reason });
  });

  test('but not for a worktree of a bare repository', async () => {
    const { ask, root, gitIn } = await createRepository({ pushed: true });
    await gitIn(join(root, 'remote.git'))('worktree', 'add', '-q', join(root, 'linked'));
    expect(await ask({ clean: true }, { cwd: join(root, 'linked') })).toMatchObject({ outcome: 'pass' });
  });

  test('without a repository', async () => {
    const { ask, root } = await createRepository();
    const bare = join(root, 'none');
    await mkdir(bare);
    const { outcome, reason } = await ask({ clean: true }, { cwd: bare });
    expect(outcome).toBe('error');
    expect(reason).toContain('not a git repository');
  });

  test("outside the runner's roots", async () => {
    const { ask } = await createRepository();
    expect(await ask({ clean: true }, { cwd: '/' })).toMatchObject({ outcome: 'error' });
  });
});

test('a worker without a folder is checked in the folder of the configuration', async () => {
  const { ask, root, gitIn } = await createRepository();
  await gitIn(root)('init', '-q');
  expect(await ask({ clean: true }, { cwd: null })).toMatchObject({
    outcome: 'fail',
    reason: 'Uncommitted changes: work/',
  });
});
