/** The `git` check against real repositories: what is uncommitted, what is not pushed, and when nobody can tell. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import { createWorkspace } from './workspace.ts';

const exec = promisify(execFile);
const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=main'];
const env = { PATH: readEnvironment().PATH ?? '', HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };

/** A repository in the worker's folder, with one commit; `pushed` to a bare one beside it. */
async function createRepository({ pushed = false } = {}) {
  const workspace = await createWorkspace({}, { env });
  const { cwd, root } = workspace;
  const git = (...args: string[]) => exec('git', [...identity, ...args], { cwd, env });
  await git('init', '-q');
  await writeFile(join(cwd, 'kept.txt'), 'kept\n');
  await git('add', '.');
  await git('commit', '-qm', 'first');
  if (pushed) {
    await git('init', '-q', '--bare', join(root, 'remote.git'));
    await git('remote', 'add', 'origin', join(root, 'remote.git'));
    await git('push', '-q', '-u', 'origin', 'HEAD');
  }
  const ask = (what: { clean?: boolean; pushed?: boolean }, more: { cwd?: string | null; timeoutMs?: number } = {}) =>
    workspace.runner.run(
      { kind: 'git', clean: false, pushed: false, cwd, timeoutMs: null, ...what, ...more },
      new AbortController().signal,
    );
  return { ...workspace, git, ask };
}

describe('clean', () => {
  test('passes where everything is committed', async () => {
    const { ask } = await createRepository();
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'pass' });
  });

  test('names what is changed, staged, renamed or untracked, three at most', async () => {
    const { ask, cwd, git } = await createRepository();
    await git('mv', 'kept.txt', 'moved.txt');
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail', reason: 'Uncommitted changes: moved.txt' });
    for (const name of ['a b.txt', 'c.txt', 'd.txt']) await writeFile(join(cwd, name), name);
    expect(await ask({ clean: true })).toMatchObject({
      outcome: 'fail',
      reason: 'Uncommitted changes: moved.txt, a b.txt, c.txt, …',
    });
  });

  test('runs nothing that the repository names', async () => {
    const { ask, cwd, git } = await createRepository();
    await writeFile(join(cwd, 'evil.sh'), `#!/bin/sh\ntouch ${cwd}/ran\n`, { mode: 0o755 });
    await git('add', '.');
    await git('commit', '-qm', 'evil');
    await git('config', 'core.fsmonitor', join(cwd, 'evil.sh'));
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'pass' });
  });
});

describe('pushed', () => {
  test('passes where the upstream has every commit', async () => {
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
});

describe('nobody can tell', () => {
  test('without an upstream', async () => {
    const { ask } = await createRepository();
    const { outcome, reason } = await ask({ pushed: true });
    expect(outcome).toBe('error');
    expect(reason).toContain('no upstream');
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

test('a worker without a folder is looked at in the folder of the configuration', async () => {
  const { ask, root } = await createRepository();
  await exec('git', [...identity, 'init', '-q'], { cwd: root, env });
  expect(await ask({ clean: true }, { cwd: null })).toMatchObject({
    outcome: 'fail',
    reason: 'Uncommitted changes: work/',
  });
});
