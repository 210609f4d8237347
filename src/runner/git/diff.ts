/**
 * The changes in a worker's folder as one text: what was committed since a base, what is not committed, and new files. The
 * index of the repository says which files git need not look at, and an agent can write it; so the changes are found with
 * an index of our own. Nothing is written into the repository, and nothing runs that it names (sealed-repository.ts).
 */
import { constants } from 'node:fs';
import { lstat, open, readlink, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cutMiddle } from '../../../machines/index.ts';
import { findWorkerFolder, isInside } from '../folder.ts';
import type { Interruption } from '../interruption.ts';
import { findRepository } from './find-repository.ts';
import { createRunGit, type GitFailure, type GitNoAnswer, type GitPlace } from './run-git.ts';
import { type SealedRepository, sealRepository } from './sealed-repository.ts';
import { findBase } from './unchanged.ts';

/** `text`: '' where nothing has changed; null: the folder is in no repository. */
export type Changes = { readonly text: string | null };

/** A reader of more would lose its way, and a model its place. Code points. */
const diffLengthMax = 96_000;
/** New files that are shown; the names of more are listed. */
const newFilesMax = 200;
const newFileBytesMax = 16_384;
const namesMax = 1_000;

export async function readChanges(
  { cwd, since }: { readonly cwd: string | null; readonly since: string | null },
  place: GitPlace,
  stop: Interruption,
): Promise<Changes | GitNoAnswer> {
  const folder = await findWorkerFolder(cwd, place);
  if ('reason' in folder) return failure(folder.reason);
  const repository = await findRepository(folder.path, place.roots);
  if ('reason' in repository) return repository.isNone === true ? { text: null } : failure(repository.reason);
  const { workTree } = repository;
  const sealed = await sealRepository(repository, createRunGit(place, workTree, stop), false);
  if (!('git' in sealed)) return sealed;
  try {
    const base = await findBase(since, sealed);
    return typeof base === 'string' ? await compare(base, workTree, sealed, stop) : base;
  } finally {
    await sealed.close();
  }
}

const failure = (reason: string): GitFailure => ({ reason, exitCode: null });

/** The arguments do not look into submodules, and run no program that attributes name. */
const diffArguments = [
  ...['diff', '--patch-with-stat', '--stat-count=300', '--no-color', '--no-ext-diff', '--no-textconv'],
  '--ignore-submodules=dirty',
];

async function compare(
  base: string,
  workTree: string,
  { git }: SealedRepository,
  stop: Interruption,
): Promise<Changes | GitNoAnswer> {
  const made = await git(base === '' ? ['read-tree', '--empty'] : ['read-tree', base]);
  if (!('stdout' in made)) return made;
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

/** A new file as a diff shows it. */
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

/** Null: it is no file, or a folder of its path leads out of the work tree. */
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
