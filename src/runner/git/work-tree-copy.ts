/**
 * A copy of a work tree in a temporary folder, with a repository of its own: it borrows the original's objects, and
 * copies its branches and HEAD. The original is only read. Nothing of its configuration is copied, so git runs no
 * program that it names.
 */
import { constants } from 'node:fs';
import { cp, lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { AppError } from '../../errors.ts';
import { createInterruption } from '../../timer.ts';
import { isInside } from '../folder.ts';
import { findRepository, type Repository } from './find-repository.ts';
import { createRunGit, type RunOptions } from './run-git.ts';

export type WorkTreeCopy = {
  /** Real path of the copy. */
  readonly path: string;
  /** The commit that HEAD names. */
  readonly head: string;
  /** @throws AppError check.failed */
  git(args: readonly string[], options?: RunOptions): Promise<string>;
};
type CopyOptions = { readonly env: Environment; readonly signal: AbortSignal };

/** Long enough for the largest repositories. A person waits and may press Ctrl-C. */
const timeoutMs = 3_600_000;

/** Not copied: the repository itself, and the data of a service that runs in the folder. */
const leftOut: ReadonlySet<string> = new Set(['.git', '.stopgate']);

/** @returns null if `folder`, a real path, is not in a repository. @throws AppError input.bad */
export async function findWorkTree(folder: string): Promise<Repository | null> {
  const found = await findRepository(folder, [folder]);
  if (!('reason' in found)) return found;
  if (found.isNone === true) return null;
  throw new AppError('input.bad', found.reason);
}

/**
 * Copies the work tree to `path`, an empty folder.
 * @param contents `whole`: with ignored files, such as installed packages, and uncommitted changes. `committed`: only
 * the files of HEAD
 * @throws AppError check.failed if git fails, e.g. because there is no commit
 */
export async function copyWorkTree(
  repository: Repository,
  path: string,
  contents: 'whole' | 'committed',
  { env, signal }: CopyOptions,
): Promise<WorkTreeCopy> {
  const git = createGit(repository, path, { env, signal });
  await borrowRepository(repository, path, git);
  const head = (await git(['rev-parse', '--verify', 'HEAD^{commit}'])).trim();
  await git(['read-tree', 'HEAD']);
  if (contents === 'committed') await git(['checkout-index', '--all', '--force']);
  else await copyFiles(repository.workTree, path, signal);
  return { path, head, git };
}

function createGit({ workTree }: Repository, path: string, { env, signal }: CopyOptions): WorkTreeCopy['git'] {
  const workspace = { roots: [workTree], baseDir: path, env, onStart: () => {} };
  return async (args, options = {}) => {
    const stop = createInterruption(timeoutMs, signal);
    try {
      const own = { ...identity, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
      const answer = await createRunGit(workspace, path, stop)(args, { ...options, env: own });
      if ('stdout' in answer) return answer.stdout;
      signal.throwIfAborted();
      throw new AppError('check.failed', 'reason' in answer ? answer.reason : 'git took too long');
    } finally {
      stop.clear();
    }
  };
}

const identity = {
  GIT_AUTHOR_NAME: 'stopgate',
  GIT_AUTHOR_EMAIL: 'stopgate@localhost',
  GIT_COMMITTER_NAME: 'stopgate',
  GIT_COMMITTER_EMAIL: 'stopgate@localhost',
  GIT_LITERAL_PATHSPECS: '1',
};

async function borrowRepository(
  { gitDir, commonDir }: Repository,
  path: string,
  git: WorkTreeCopy['git'],
): Promise<void> {
  const config = await git(['config', '--file', join(commonDir, 'config'), '--no-includes', '--list', '-z']);
  const format = /(?:^|\0)extensions\.objectformat\n(\w+)\0/i.exec(config)?.[1] ?? 'sha1';
  if (/(?:^|\0)extensions\.refstorage\n(?!files\0)/i.test(config))
    throw new AppError('check.failed', 'git: a repository with reftable cannot be copied');
  await git(['init', '-q', '--template=', `--object-format=${format}`, path]);
  const own = join(path, '.git');
  await mkdir(join(own, 'objects', 'info'), { recursive: true });
  await writeFile(join(own, 'objects', 'info', 'alternates'), `${join(commonDir, 'objects')}\n`);
  for (const name of ['refs', 'packed-refs', 'shallow', 'info/exclude'])
    await copyIfThere(join(commonDir, name), join(own, name));
  await copyIfThere(join(gitDir, 'HEAD'), join(own, 'HEAD'));
}

async function copyIfThere(from: string, to: string): Promise<void> {
  const found = await lstat(from).catch(() => null);
  if (found?.isFile() || found?.isDirectory()) await cp(from, to, { recursive: true, verbatimSymlinks: true });
}

async function copyFiles(from: string, to: string, signal: AbortSignal): Promise<void> {
  for (const name of await readdir(from)) {
    if (leftOut.has(name)) continue;
    await cp(join(from, name), join(to, name), {
      recursive: true,
      verbatimSymlinks: true,
      // Copies on write where the file system can.
      mode: constants.COPYFILE_FICLONE,
      async filter(path) {
        signal.throwIfAborted();
        const found = await lstat(path).catch(() => null);
        return found !== null && (found.isFile() || found.isDirectory() || found.isSymbolicLink());
      },
    });
  }
}

/** Undoes the last commit in the copy, and commits that. @throws AppError check.failed if it is the first commit */
export async function revertLastCommit({ path, git }: WorkTreeCopy): Promise<void> {
  const changed = async (filter: string) =>
    git(['diff', '--name-only', '-z', '--no-renames', `--diff-filter=${filter}`, 'HEAD~1', 'HEAD']);
  for (const name of (await changed('A')).split('\0'))
    if (name !== '') await rm(join(path, name), { recursive: true, force: true });
  const before = await changed('a');
  if (before !== '')
    await git(['checkout', 'HEAD~1', '--pathspec-from-file=-', '--pathspec-file-nul'], { input: before });
  await git(['add', '--all']);
  await git(['commit', '-q', '--no-verify', '--allow-empty', '-m', 'Revert the last commit']);
}

/** Returns the path in the copy, or null if `path` is outside the work tree. */
export const pathInCopy = ({ workTree }: Repository, copy: string, path: string): string | null =>
  isInside(workTree, path) ? join(copy, relative(workTree, path)) : null;
