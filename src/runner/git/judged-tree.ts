/**
 * Names the commit and tree on which a check ran, for receipts (docs/receipts.md). They are named only if the work tree
 * is exactly that tree, so contents are compared: an agent can manipulate the index so that git does not see a change.
 */
import type { Environment } from '../../config/environment.ts';
import { createInterruption, type Interruption } from '../../timer.ts';
import { findFixedFolder } from '../folder.ts';
import { type GitCheckWorkspace, uncommittedIn } from './check.ts';
import { findRepository } from './find-repository.ts';
import { createRunGit, type GitNoAnswer } from './run-git.ts';
import { type SealedRepository, sealRepository } from './sealed-repository.ts';

/** `unknown`: why no tree can be named. */
type JudgedTree = { readonly commit: string; readonly tree: string } | { readonly unknown: string };

/** Reading a large repository must not delay the answer for longer than this; such an answer has no receipt. */
export const treeTimeoutMs = 10_000;

type TreeWorkspace = Omit<GitCheckWorkspace, 'git'>;
/** `whole` compares contents. `quick` trusts the index: enough before a check whose tree is read `whole` after it. */
type Depth = 'quick' | 'whole';
type Limits = { readonly timeoutMs: number; readonly signal: AbortSignal };

/** Reads the tree of `folder`, a real path. Returns null outside a repository. */
export async function readTree(
  folder: string,
  workspace: TreeWorkspace,
  depth: Depth,
  { timeoutMs, signal }: Limits,
): Promise<JudgedTree | null> {
  const stop = createInterruption(timeoutMs, signal);
  try {
    const late = stop.happened.then((): JudgedTree => ({ unknown: lateText }));
    return await Promise.race([readUntil(folder, workspace, depth, { stop, timeoutMs }), late]);
  } finally {
    stop.clear();
  }
}

async function readUntil(
  folder: string,
  workspace: TreeWorkspace,
  depth: Depth,
  { stop, timeoutMs }: { readonly stop: Interruption; readonly timeoutMs: number },
): Promise<JudgedTree | null> {
  const repository = await findRepository(folder, [...workspace.roots, folder]);
  if ('reason' in repository) return repository.isNone === true ? null : { unknown: repository.reason };
  const run = createRunGit(workspace, repository.workTree, stop);
  const sealed = await sealRepository(repository, run, depth === 'quick');
  if (!('git' in sealed)) return unknownFor(sealed);
  try {
    // A new index has no flags and no times, so git compares the contents of every file.
    const read = depth === 'quick' ? null : await sealed.git(['read-tree', 'HEAD']);
    if (read !== null && !('stdout' in read)) return unknownFor(read);
    // A file that the runner ignores in its `git` checks may still change what a command does.
    const context = { workspace: { ...workspace, git: everythingCounts }, stop, timeoutMs };
    const uncommitted = await uncommittedIn(repository, sealed, context);
    if (uncommitted !== null) return { unknown: uncommitted };
    return await nameHead(sealed);
  } finally {
    await sealed.close();
  }
}

const everythingCounts = { untracked: 'count', worktrees: 'count' } as const;

async function nameHead({ git }: SealedRepository): Promise<JudgedTree> {
  const named = await git(['rev-parse', 'HEAD^{commit}', 'HEAD^{tree}']);
  if ('interrupted' in named) return unknownFor(named);
  if (!('stdout' in named)) return { unknown: 'there is no commit yet' };
  const [commit = '', tree = ''] = named.stdout.trim().split('\n');
  return { commit, tree };
}

const lateText = 'comparing the work tree with its commit took too long';
const unknownFor = (answer: GitNoAnswer): JudgedTree => ({ unknown: 'reason' in answer ? answer.reason : lateText });

/** How long a person waits for the tree of a large repository. */
const personTimeoutMs = 600_000;

/** Reads the tree of the repository in `path` now. @param env the environment of this process */
export async function readRepositoryTree(path: string, env: Environment): Promise<JudgedTree> {
  const folder = await findFixedFolder(path, path);
  if ('reason' in folder) return { unknown: folder.reason };
  const workspace = { roots: [], baseDir: folder.path, env, onStart: () => {} };
  const limits = { timeoutMs: personTimeoutMs, signal: new AbortController().signal };
  const tree = await readTree(folder.path, workspace, 'whole', limits);
  return tree ?? { unknown: 'it is not in a git repository' };
}

/**
 * Combines the trees that were read before and after a check.
 * @returns null if the check ran outside a repository
 */
export function treeDuring(before: JudgedTree | null, after: JudgedTree | null): JudgedTree | null {
  if (before === null || 'unknown' in before) return before;
  if (after === null) return { unknown: 'the repository was removed while the check ran' };
  if ('unknown' in after) return after;
  const isSame = before.commit === after.commit && before.tree === after.tree;
  return isSame ? after : { unknown: 'the commit changed while the check ran' };
}
