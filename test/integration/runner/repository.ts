/** A real repository in a worker's folder, and a runner that looks at it. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '../../../src/config/environment.ts';
import type { GitConfig } from '../../../src/config/file.ts';
import { createWorkspace } from './workspace.ts';

const exec = promisify(execFile);
const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=main'];
/** A submodule may be cloned from a folder, which git refuses since 2.38.1 unless it is told so. */
const fromFolders = ['-c', 'protocol.file.allow=always'];
const env = { PATH: readEnvironment().PATH ?? '', HOME: '/nonexistent' };
export type Git = (...args: string[]) => Promise<{ stdout: string }>;

const gitIn =
  (cwd: string): Git =>
  (...args) => {
    const run = exec('git', [...identity, ...fromFolders, ...args], { cwd, env: { ...env, GIT_CONFIG_NOSYSTEM: '1' } });
    run.child.stdin?.end();
    return run;
  };

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** With one commit; `pushed` to a bare repository beside it. `env`: the runner's, which a test may change. */
type Options = { readonly pushed?: boolean; readonly commit?: boolean; readonly git?: GitConfig };

export async function createRepository({ pushed = false, commit = true, git: settings }: Options = {}) {
  const runnerEnv: Record<string, string> = { ...env };
  const workspace = await createWorkspace({}, { env: runnerEnv, git: settings });
  const { cwd, root } = workspace;
  const git = gitIn(cwd);
  await git('init', '-q');
  await writeFile(join(cwd, 'kept.txt'), 'kept\n');
  if (commit) {
    await git('add', '.');
    await git('commit', '-qm', 'first');
  }
  if (pushed) {
    await git('init', '-q', '--bare', join(root, 'remote.git'));
    await git('remote', 'add', 'origin', join(root, 'remote.git'));
    await git('push', '-q', '-u', 'origin', 'HEAD');
  }
  type Asked = { clean?: boolean; pushed?: boolean; unchanged?: string[]; since?: string };
  const ask = (what: Asked, more: { cwd?: string | null; timeoutMs?: number } = {}) =>
    workspace.runner.run(
      { kind: 'git', clean: false, pushed: false, unchanged: [], cwd, timeoutMs: null, ...what, ...more },
      new AbortController().signal,
    );
  return { ...workspace, env: runnerEnv, git, gitIn, ask };
}

/** `sub` in the repository, committed. @returns git within it */
export async function createSubmodule({ root, cwd, git }: { root: string; cwd: string; git: Git }): Promise<Git> {
  const origin = join(root, 'sub-origin');
  await git('init', '-q', origin);
  await writeFile(join(origin, 'inner.txt'), 'inner\n');
  await gitIn(origin)('add', '.');
  await gitIn(origin)('commit', '-qm', 'inner');
  await git('submodule', '--quiet', 'add', origin, 'sub');
  await git('commit', '-qm', 'with a submodule');
  return gitIn(join(cwd, 'sub'));
}
