/**
 * The git state of a folder: a digest of the current commit, the index, and the contents of all files that are not
 * ignored. Contents are read because an agent can manipulate the index.
 */
import { createHash, type Hash } from 'node:crypto';
import { lstat, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Interruption } from '../../timer.ts';
import { hashContents } from './contents.ts';
import { findRepository } from './find-repository.ts';
import { createRunGit, type GitWorkspace } from './run-git.ts';
import { type SealedRepository, sealRepository } from './sealed-repository.ts';

/** Reading more files would take longer than most checks. */
const filesMax = 100_000;
const bytesMax = 2 ** 31;

/**
 * `folder` is a real path. Returns null, so that nothing is reused, if it has no repository or its state is unknown.
 */
export async function readTreeState(
  folder: string,
  workspace: GitWorkspace,
  stop: Interruption,
): Promise<string | null> {
  const repository = await findRepository(folder, [...workspace.roots, folder]);
  if ('reason' in repository) return null;
  const { workTree } = repository;
  const sealed = await sealRepository(repository, createRunGit(workspace, workTree, stop));
  if (!('git' in sealed)) return null;
  try {
    const names = await readNames(sealed);
    const digest = createHash('sha256').update(JSON.stringify([workTree, names?.head, names?.index]));
    const isWhole = names !== null && (await addFiles(digest, workTree, names.files, stop));
    return isWhole ? digest.digest('hex') : null;
  } finally {
    await sealed.close();
  }
}

type Names = { readonly head: string; readonly index: string; readonly files: readonly string[] };

async function readNames({ git, branch }: SealedRepository): Promise<Names | null> {
  const head = await git(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  // There is no HEAD before the first commit.
  if (!('stdout' in head) && !('exitCode' in head && head.exitCode === 1)) return null;
  const index = await git(['ls-files', '--stage', '-z']);
  const listed = await git(['ls-files', '--cached', '--others', '--exclude-standard', '-z']);
  if (!('stdout' in index) || !('stdout' in listed) || index.isCut || listed.isCut) return null;
  // The state of nested repositories, submodules or not, is unknown.
  if (/(?:^|\0)160000 /.test(index.stdout)) return null;
  const files = listed.stdout.split('\0').filter((name) => name !== '');
  if (files.length > filesMax || files.some((name) => name.endsWith('/'))) return null;
  const commit = 'stdout' in head ? head.stdout.trim() : '';
  return { head: `${branch ?? ''} ${commit}`, index: index.stdout, files };
}

/** Returns false if a file could not be read. */
async function addFiles(
  digest: Hash,
  workTree: string,
  names: readonly string[],
  stop: Interruption,
): Promise<boolean> {
  let bytesLeft = bytesMax;
  for (const name of names) {
    if (stop.cause !== null) return false;
    const path = join(workTree, name);
    const found = await lstat(path).catch(() => null);
    const kind = found === null ? 'none' : found.isSymbolicLink() ? 'link' : found.isFile() ? 'file' : 'other';
    if (kind === 'other') return false;
    digest.update(JSON.stringify([name, kind, found === null ? 0 : found.mode & 0o111, found?.size ?? 0]));
    bytesLeft -= found?.size ?? 0;
    if (bytesLeft < 0) return false;
    if (kind === 'link') digest.update(await readlink(path).catch(() => ''));
    if (kind === 'file' && (await hashContents(path, stop, () => digest)) === null) return false;
  }
  return true;
}
