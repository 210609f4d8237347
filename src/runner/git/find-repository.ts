/**
 * Finds the repository of a folder without running git, which would read the repository's configuration. A `.git` file
 * or symlink may point elsewhere. It is accepted only if the target is within the roots or the work tree, or names this
 * work tree (a linked worktree, a submodule). Otherwise an agent could make us report on a foreign repository.
 */
import { constants } from 'node:fs';
import { lstat, open, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isInside } from '../folder.ts';
import { quote } from '../reply.ts';

/** All paths are real paths. */
export type Repository = {
  readonly workTree: string;
  readonly gitDir: string;
  /** The directory shared by linked worktrees. Equals `gitDir` if there are none. */
  readonly commonDir: string;
  /** Folders in which symlinks of the git directory may end. */
  readonly allowedFolders: readonly string[];
};
/** `isNone`: the folder is not in a repository. */
type Problem = { readonly reason: string; readonly isNone?: true };

export const bareText = 'is a bare repository and has no work tree';

/** Maximum size of files in a git directory that contain a path or a branch. */
const pointerBytesMax = 8_192;

/** Searches `folder`, a real path, and the folders above it. */
export async function findRepository(folder: string, roots: readonly string[]): Promise<Repository | Problem> {
  for (let current = folder; ; current = dirname(current)) {
    if (await exists(join(current, '.git'))) return openRepository(current, roots);
    if (await isGitDir(current)) return { reason: `git: ${quote(current)} ${bareText}` };
    if (current === dirname(current))
      return {
        reason: `git: ${quote(folder)} is not a git repository, and neither is a folder above it`,
        isNone: true,
      };
  }
}

/** @param workTree a real path that contains `.git` */
export async function openRepository(workTree: string, roots: readonly string[]): Promise<Repository | Problem> {
  const link = join(workTree, '.git');
  const gitDir = await realpath(await gitDirAt(link, workTree)).catch(() => null);
  if (gitDir === null || !(await isGitDir(gitDir))) return { reason: `git: ${quote(link)} is not a git repository` };
  const common = (await readSmallFile(join(gitDir, 'commondir')))?.trim();
  const commonDir = common === undefined ? gitDir : await realpath(resolve(gitDir, common)).catch(() => null);
  if (commonDir === null) return { reason: `git: ${quote(gitDir)} names a 'commondir' that does not exist` };
  const folders = await Promise.all([workTree, ...roots].map((root) => realpath(root).catch(() => null)));
  const allowed = folders.filter((folder) => folder !== null);
  const isAllowed = [gitDir, commonDir].every((path) => allowed.some((folder) => isInside(folder, path)));
  if (isAllowed || (await belongsToWorkTree(workTree, { gitDir, commonDir })))
    return { workTree, gitDir, commonDir, allowedFolders: [...allowed, gitDir, commonDir] };
  return { reason: `git: ${quote(link)} points to ${quote(gitDir)}, outside the runner's roots` };
}

type Directories = Pick<Repository, 'gitDir' | 'commonDir'>;

/** Tells whether a folder is a linked worktree that the repository itself lists. */
export async function isLinkedWorktree(path: string, { commonDir }: Repository): Promise<boolean> {
  const found = await openRepository(path, [commonDir]);
  return !('reason' in found) && found.commonDir === commonDir && (await isNamedBack(path, found));
}

async function isNamedBack(workTree: string, { gitDir, commonDir }: Directories): Promise<boolean> {
  const back = (await readSmallFile(join(gitDir, 'gitdir')))?.trim();
  const named = back === undefined ? null : await realpath(dirname(resolve(gitDir, back))).catch(() => null);
  return named === workTree && isInside(commonDir, gitDir);
}

/**
 * Tells whether a git directory outside the roots belongs to this work tree. The directory of a linked worktree names
 * the worktree. The directory of a submodule is in `modules/` of the enclosing repository.
 */
async function belongsToWorkTree(workTree: string, { gitDir, commonDir }: Directories): Promise<boolean> {
  if (await isNamedBack(workTree, { gitDir, commonDir })) return true;
  for (let current = dirname(workTree); gitDir === commonDir; current = dirname(current)) {
    const modules = await realpath(join(current, '.git', 'modules')).catch(() => null);
    if (modules !== null) return isInside(modules, gitDir);
    if (current === dirname(current)) return false;
  }
  return false;
}

async function gitDirAt(link: string, workTree: string): Promise<string> {
  const path = /^gitdir: (.+)/.exec((await readSmallFile(link)) ?? '')?.[1];
  return path === undefined ? link : resolve(workTree, path.trimEnd());
}

/** Recognises a git directory by the same criteria as git. */
async function isGitDir(path: string): Promise<boolean> {
  if (!(await exists(join(path, 'HEAD')))) return false;
  if (await exists(join(path, 'commondir'))) return true;
  return (await isFolder(join(path, 'refs'))) && isFolder(join(path, 'objects'));
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );

/**
 * Returns undefined if there is no such file. Opens it with O_NONBLOCK, because a FIFO in its place would block one
 * of Node's few threads forever.
 */
export async function readSmallFile(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (file === null) return undefined;
  try {
    if (!(await file.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(pointerBytesMax), 0, pointerBytesMax, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
