/**
 * Finds the repository of a folder, as git does, but without git: git would read the repository's configuration first.
 * A `.git` file or symlink may lead elsewhere. It counts only if it stays within the roots or the work tree, or if what
 * it leads to names this work tree (a linked worktree, a submodule): else an agent could have us report on a repository
 * that is none of its own.
 */
import { constants } from 'node:fs';
import { lstat, open, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isInside } from '../folder.ts';
import { quote } from '../reply.ts';

/** Real paths. */
export type Repository = {
  readonly workTree: string;
  readonly gitDir: string;
  /** The directory that linked worktrees share; else `gitDir` itself. */
  readonly commonDir: string;
  /** Folders that its parts may lie in. */
  readonly places: readonly string[];
};
/** `isNone`: the folder is in no repository. */
type Problem = { readonly reason: string; readonly isNone?: true };

export const bareText = 'is a bare repository and has no work tree';

/** The size of the small files in a git directory that name a path or a branch. */
const pointerBytesMax = 8_192;

/** `folder`: a real path. The repository is in it or in a folder above it. */
export async function findRepository(folder: string, roots: readonly string[]): Promise<Repository | Problem> {
  for (let at = folder; ; at = dirname(at)) {
    if (await exists(join(at, '.git'))) return openRepository(at, roots);
    if (await isGitDir(at)) return { reason: `git: ${quote(at)} ${bareText}` };
    if (at === dirname(at))
      return {
        reason: `git: ${quote(folder)} is not a git repository, and neither is a folder above it`,
        isNone: true,
      };
  }
}

/** `workTree`: a real path with a `.git`. */
export async function openRepository(workTree: string, roots: readonly string[]): Promise<Repository | Problem> {
  const link = join(workTree, '.git');
  const gitDir = await realpath(await gitDirAt(link, workTree)).catch(() => null);
  if (gitDir === null || !(await isGitDir(gitDir))) return { reason: `git: ${quote(link)} is no git repository` };
  const common = (await readSmallFile(join(gitDir, 'commondir')))?.trim();
  const commonDir = common === undefined ? gitDir : await realpath(resolve(gitDir, common)).catch(() => null);
  if (commonDir === null) return { reason: `git: ${quote(gitDir)} names a 'commondir' that does not exist` };
  const open = await Promise.all([workTree, ...roots].map((root) => realpath(root).catch(() => null)));
  const allowed = open.filter((place) => place !== null);
  const isAllowed = [gitDir, commonDir].every((path) => allowed.some((place) => isInside(place, path)));
  if (isAllowed || (await isItsOwn(workTree, { gitDir, commonDir })))
    return { workTree, gitDir, commonDir, places: [...allowed, gitDir, commonDir] };
  return { reason: `git: ${quote(link)} leads to ${quote(gitDir)}, outside the runner's roots` };
}

type Directories = Pick<Repository, 'gitDir' | 'commonDir'>;

/** Tells whether a folder is a linked worktree that the repository itself names as one. */
export async function isLinkedWorktree(path: string, { commonDir }: Repository): Promise<boolean> {
  const found = await openRepository(path, [commonDir]);
  return !('reason' in found) && found.commonDir === commonDir && (await isNamedBack(path, found));
}

async function isNamedBack(workTree: string, { gitDir, commonDir }: Directories): Promise<boolean> {
  const back = (await readSmallFile(join(gitDir, 'gitdir')))?.trim();
  const named = back === undefined ? null : await realpath(dirname(resolve(gitDir, back))).catch(() => null);
  return named === workTree && isInside(commonDir, gitDir);
}

/** A linked worktree's directory names the worktree. Git keeps a submodule's in `modules/` of the repository around it. */
async function isItsOwn(workTree: string, { gitDir, commonDir }: Directories): Promise<boolean> {
  if (await isNamedBack(workTree, { gitDir, commonDir })) return true;
  for (let at = dirname(workTree); gitDir === commonDir; at = dirname(at)) {
    const modules = await realpath(join(at, '.git', 'modules')).catch(() => null);
    if (modules !== null) return isInside(modules, gitDir);
    if (at === dirname(at)) return false;
  }
  return false;
}

async function gitDirAt(link: string, workTree: string): Promise<string> {
  const path = /^gitdir: (.+)/.exec((await readSmallFile(link)) ?? '')?.[1];
  return path === undefined ? link : resolve(workTree, path.trimEnd());
}

/** Recognises a git directory by the same signs as git. */
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
    (it) => it.isDirectory(),
    () => false,
  );

/** Returns undefined if there is no such file. Without waiting: a FIFO in its place would hold one of Node's few threads for ever. */
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
