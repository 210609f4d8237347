/**
 * The changes in a worker's folder as text: commits since a base, uncommitted changes and new files. An agent can
 * manipulate the repository's index to hide files from git, so the changes are found with a separate index. Nothing is
 * written into the repository, and no program that it names is run (sealed-repository.ts).
 */
import { constants } from 'node:fs';
import { lstat, open, readlink, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cutMiddle } from '../../../machines/index.ts';
import type { Interruption } from '../../timer.ts';
import { findWorkerFolder, isInside } from '../folder.ts';
import { findRepository, type Repository } from './find-repository.ts';
import { createRunGit, type GitFailure, type GitNoAnswer, type GitWorkspace, type RunGit } from './run-git.ts';
import { type SealedRepository, sealRepository } from './sealed-repository.ts';
import { findSparse } from './sparse.ts';
import { findBase } from './unchanged.ts';

/** `text` is '' if nothing has changed, or null if the folder is not in a repository. */
export type Changes = { readonly text: string | null };

/** In code points. A longer diff helps neither a person nor a model. */
const diffLengthMax = 96_000;
/** Number of new files whose contents are shown. Of the rest, only names are listed. */
const newFilesMax = 200;
const newFileBytesMax = 16_384;
const namesMax = 1_000;

export async function readChanges(
  cwd: string | null,
  workspace: GitWorkspace,
  stop: Interruption,
): Promise<Changes | GitNoAnswer> {
  const folder = await findWorkerFolder(cwd, workspace);
  if ('reason' in folder) return failure(folder.reason);
  const repository = await findRepository(folder.path, workspace.roots);
  if ('reason' in repository) return repository.isNone === true ? { text: null } : failure(repository.reason);
  const { workTree } = repository;
  const run = createRunGit(workspace, workTree, stop);
  const absent = await findAbsent(repository, run);
  if (!Array.isArray(absent)) return absent;
  const sealed = await sealRepository(repository, run, false);
  if (!('git' in sealed)) return sealed;
  try {
    const base = await findBase(null, sealed);
    return typeof base === 'string' ? await compare(base, { workTree, absent: new Set(absent), sealed, stop }) : base;
  } finally {
    await sealed.close();
  }
}

/** Reads the repository's own index, while the changes are found with a separate one. */
async function findAbsent(repository: Repository, run: RunGit): Promise<string[] | GitNoAnswer> {
  const sealed = await sealRepository(repository, run);
  if (!('git' in sealed)) return sealed;
  try {
    return await findSparse(sealed, repository.workTree);
  } finally {
    await sealed.close();
  }
}

const failure = (reason: string): GitFailure => ({ reason, exitCode: null });

/** Skips submodules, and runs no program named in attributes. */
const diffArguments = [
  'diff',
  '--patch-with-stat',
  '--stat-count=300',
  '--no-color',
  '--no-ext-diff',
  '--no-textconv',
  '--ignore-submodules=dirty',
];

type Work = {
  readonly workTree: string;
  readonly absent: ReadonlySet<string>;
  readonly sealed: SealedRepository;
  readonly stop: Interruption;
};

async function compare(base: string, work: Work): Promise<Changes | GitNoAnswer> {
  const { workTree, absent, stop } = work;
  const { git } = work.sealed;
  const created = await git(base === '' ? ['read-tree', '--empty'] : ['read-tree', base]);
  if (!('stdout' in created)) return created;
  if (absent.size > 0) {
    const inBase = await git(['ls-files', '-z'], { only: { test: (name) => absent.has(name) } });
    if (!('stdout' in inBase)) return inBase;
    const marked = await git(['update-index', '-z', '--skip-worktree', '--stdin'], { input: inBase.stdout });
    if (!('stdout' in marked)) return marked;
  }
  const changed = await git(diffArguments);
  if (!('stdout' in changed)) return changed;
  const untracked = await git(['ls-files', '--others', '--exclude-standard', '-z']);
  if (!('stdout' in untracked)) return untracked;
  const names = untracked.stdout.split('\0').filter((name) => name !== '');
  const parts = [changed.stdout];
  for (const name of names.slice(0, newFilesMax)) {
    if (stop.cause !== null) return { interrupted: stop.cause };
    parts.push(await describeNewFile(name, workTree));
  }
  const more = names.slice(newFilesMax);
  if (more.length > 0) parts.push(`${more.length} more new files: ${more.slice(0, namesMax).join(', ')}\n`);
  return { text: cutMiddle(parts.filter((part) => part !== '').join('\n'), diffLengthMax) };
}

/** Formats a new file like a diff. */
async function describeNewFile(name: string, workTree: string): Promise<string> {
  const head = `diff --git a/${name} b/${name}\nnew file\n`;
  const path = join(workTree, name);
  const found = await lstat(path).catch(() => null);
  if (found?.isSymbolicLink()) return `${head}symbolic link to ${await readlink(path).catch(() => 'nowhere')}\n`;
  const bytes = found?.isFile() ? await readStart(path, workTree) : null;
  if (bytes === null) return `${head}(it cannot be read)\n`;
  if (bytes.includes(0)) return `${head}(binary, ${found?.size} bytes)\n`;
  const isCut = (found?.size ?? 0) > bytes.length;
  const lines = bytes.toString('utf8').replace(/\n$/, '').split('\n');
  return `${head}${lines.map((line) => `+${line}\n`).join('')}${isCut ? `(cut: it has ${found?.size} bytes)\n` : ''}`;
}

/** Returns null if it is not a regular file, or a parent folder is a symlink out of the work tree. */
async function readStart(path: string, workTree: string): Promise<Buffer | null> {
  const folder = await realpath(dirname(path)).catch(() => null);
  if (folder === null || !isInside(workTree, folder)) return null;
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch(() => null);
  if (file === null) return null;
  try {
    if (!(await file.stat()).isFile()) return null;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(newFileBytesMax), 0, newFileBytesMax, 0);
    return buffer.subarray(0, bytesRead);
  } catch {
    return null;
  } finally {
    await file.close();
  }
}
