/**
 * The `git` check: whether everything in the worker's repository is committed and pushed, and whether protected files
 * are unchanged (protocol.md §8). A failure counts even if another aspect could not be checked. It writes nothing into
 * the repository and runs no program that the repository names (sealed-repository.ts).
 */
import { lstat, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { checkTimeoutMs, formatDuration } from '../../../machines/index.ts';
import type { GitConfig } from '../../config/file.ts';
import type { CheckReply } from '../../host/effects/check-reply.ts';
import type { RunRequest } from '../../host/effects/run-request.ts';
import type { Interruption, InterruptionCause } from '../../timer.ts';
import { findWorkerFolder } from '../folder.ts';
import { cancelled, quote } from '../reply.ts';
import { findRepository, isLinkedWorktree, openRepository, type Repository } from './find-repository.ts';
import { unchangedLfs } from './lfs.ts';
import { createRunGit, type GitAnswer, type GitNoAnswer, type GitWorkspace } from './run-git.ts';
import { type SealedRepository, sealRepository } from './sealed-repository.ts';
import { findChangedFiles } from './unchanged.ts';

export type GitRequest = Extract<RunRequest, { kind: 'git' }>;

type GitAspects = Pick<GitRequest, 'clean' | 'pushed' | 'unchanged' | 'since'>;

export const gitTimeoutMs = checkTimeoutMs;
const namesMax = 3; // like the titles of open plan steps in a reason

type Context = { readonly workspace: GitCheckWorkspace; readonly stop: Interruption; readonly timeoutMs: number };
/** `git`: what counts as uncommitted work. */
export type GitCheckWorkspace = GitWorkspace & { readonly git: GitConfig };
/** The result of one aspect: a sentence that describes the failure, an error or timeout, or null for a pass. */
type Answer = string | CheckReply | null;

/** @param timeoutMs only for the message; `stop` enforces it */
export async function checkGit(
  request: GitRequest,
  workspace: GitCheckWorkspace,
  { stop, timeoutMs }: Pick<Context, 'stop' | 'timeoutMs'>,
): Promise<CheckReply> {
  const context = { workspace, stop, timeoutMs };
  const repository = await Promise.race([locate(request, workspace), stop.happened]);
  if (typeof repository === 'string') return interrupted(repository, timeoutMs);
  if ('reason' in repository) return { outcome: 'error', reason: repository.reason };
  const answers = await inspect(repository, request, context);
  const failures = answers.filter((answer) => typeof answer === 'string');
  const unknown = answers.filter((answer) => answer !== null && typeof answer === 'object');
  const abandoned = unknown.find((reply) => reply === cancelled);
  if (abandoned !== undefined) return abandoned;
  return failures.length === 0 ? (unknown[0] ?? { outcome: 'pass' }) : { outcome: 'fail', reason: failures.join('; ') };
}

async function locate({ cwd }: GitRequest, workspace: GitWorkspace): Promise<Repository | { readonly reason: string }> {
  const folder = await findWorkerFolder(cwd, workspace);
  return 'reason' in folder ? folder : findRepository(folder.path, workspace.roots);
}

/** Returns the answers for `clean`, `pushed` and, if requested, `unchanged`. */
async function inspect(
  repository: Repository,
  { clean, pushed, unchanged = [], since = null }: GitAspects,
  context: Context,
): Promise<Answer[]> {
  const run = createRunGit(context.workspace, repository.workTree, context.stop);
  const sealed = await sealRepository(repository, run);
  if (!('git' in sealed)) return [toReply(sealed, context)];
  try {
    const uncommitted = clean ? await findUncommitted(repository, sealed, context) : null;
    const unpushed = pushed ? await findUnpushed(sealed, context) : null;
    if (unchanged.length === 0) return [uncommitted, unpushed];
    const changed = await findChangedFiles({ globs: unchanged, since }, repository.workTree, sealed, context.stop);
    return [uncommitted, unpushed, answerOfChanged(changed, context)];
  } finally {
    await sealed.close();
  }
}

function answerOfChanged(changed: readonly string[] | GitNoAnswer, context: Context): Answer {
  if (!Array.isArray(changed)) return toReply(changed as GitNoAnswer, context);
  return changed.length === 0 ? null : `Changed files that must stay: ${listNames(changed)}`;
}

const listNames = (names: readonly string[]): string =>
  `${names.slice(0, namesMax).join(', ')}${names.length > namesMax ? ', …' : ''}`;

// --- clean ----------------------------------------------------------------------------------------------------

/** Says what is uncommitted, or why that is unknown, as a sentence. Returns null for a clean repository. */
export async function uncommittedIn(
  repository: Repository,
  sealed: SealedRepository,
  context: Context,
): Promise<string | null> {
  const answer = await findUncommitted(repository, sealed, context);
  return typeof answer === 'string' || answer === null ? answer : (answer.reason ?? 'git did not answer');
}

async function findUncommitted(repository: Repository, sealed: SealedRepository, context: Context): Promise<Answer> {
  const own = await changedNames(repository, sealed, context);
  if (!Array.isArray(own)) return own;
  const inside = await changedSubmodules(repository, sealed, context);
  const names = [...new Set([...own, ...inside.names])];
  if (names.length === 0) return inside.unknown;
  return `Uncommitted changes: ${listNames(names)}`;
}

/** Skips submodules, because git would start a process there that reads their configuration. */
const statusArguments = ({ untracked, worktrees }: GitConfig) => [
  'status',
  '--porcelain=v1',
  '-z',
  '--ignore-submodules=dirty',
  // Detect only exact renames: a partial clone may lack the contents for a similarity comparison.
  '--find-renames=100%',
  // `normal` reports only the folder, which would hide untracked files beside a worktree.
  `--untracked-files=${untracked === 'ignore' ? 'no' : worktrees === 'ignore' ? 'all' : 'normal'}`,
];

async function changedNames(
  repository: Repository,
  sealed: SealedRepository,
  context: Context,
): Promise<string[] | CheckReply> {
  const { workTree } = repository;
  const { git } = context.workspace;
  const status = await sealed.git(statusArguments(git));
  if (!('stdout' in status)) return toReply(status, context);
  const found = readStatus(status.stdout);
  const changes = git.worktrees === 'ignore' ? await withoutWorktrees(found, repository) : found;
  const touched = changes.filter(({ code }) => code === ' M').map(({ name }) => name);
  const unchanged = await unchangedLfs(touched, workTree, sealed, context.stop);
  const names = changes.map(({ name }) => name).filter((name) => !unchanged.has(name));
  if (names.length > 0 || !status.isCut) return names;
  return {
    outcome: 'error',
    reason: 'git: the list of changed files exceeds 16 MiB, so not all git-lfs files can be compared',
  };
}

/**
 * Removes linked worktrees of this repository that are inside it, where some agents put the worktrees of subagents.
 * Each has its own branch. Any other nested repository counts as untracked work.
 */
async function withoutWorktrees(changes: readonly Change[], repository: Repository): Promise<Change[]> {
  const kept: Change[] = [];
  for (const change of changes) {
    const isNested = change.code === '??' && change.name.endsWith('/');
    const path = join(repository.workTree, change.name.slice(0, -1));
    if (!(isNested && (await isLinkedWorktree(path, repository)))) kept.push(change);
  }
  return kept;
}

type Change = { readonly code: string; readonly name: string };

/**
 * Parses NUL-separated `XY name`. A rename or copy, in either column, is followed by the old name, which is skipped.
 */
function readStatus(status: string): Change[] {
  const parts = status.split('\0');
  const changes: Change[] = [];
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index] ?? '';
    if (part.length < 4) continue;
    const code = part.slice(0, 2);
    changes.push({ code, name: part.slice(3) });
    if (/[RC]/.test(code)) index += 1;
  }
  return changes;
}

/** Checks each submodule as its own repository. One that is not checked out has no `.git` and nothing to lose. */
async function changedSubmodules(
  { workTree }: Repository,
  { git }: SealedRepository,
  context: Context,
): Promise<{ readonly names: readonly string[]; readonly unknown: CheckReply | null }> {
  const listed = await git(['ls-files', '--stage', '-z'], { only: submoduleLine });
  if (!('stdout' in listed)) return { names: [], unknown: toReply(listed, context) };
  const names: string[] = [];
  let unknown: CheckReply | null = null;
  for (const name of listed.stdout.split('\0').flatMap((line) => submoduleLine.exec(line)?.[1] ?? [])) {
    const path = join(workTree, name);
    if ((await lstat(join(path, '.git')).catch(() => null)) === null) continue;
    const answer = await inspectSubmodule(path, workTree, context);
    if (typeof answer === 'string') names.push(name);
    else unknown ??= answer;
    if (context.stop.cause !== null) break;
  }
  return { names, unknown };
}

/** `mode object stage TAB name`, with the mode of a submodule. */
const submoduleLine = /^160000 [0-9a-f]+ \d\t(.+)$/s;

async function inspectSubmodule(path: string, superproject: string, context: Context): Promise<Answer> {
  const repository = (await realpath(path)) === path ? await openRepository(path, [superproject]) : null;
  if (repository === null) return { outcome: 'error', reason: `git: the submodule ${quote(path)} is a symlink` };
  if ('reason' in repository) return { outcome: 'error', reason: repository.reason };
  const [answer = null] = await inspect(repository, { clean: true, pushed: false, unchanged: [] }, context);
  return answer;
}

// --- pushed ---------------------------------------------------------------------------------------------------

/**
 * A commit is pushed if any remote branch contains it. Comparing with the upstream alone would be wrong: a branch made
 * from `origin/main` has that as its upstream, but is pushed under its own name.
 */
async function findUnpushed({ git, branch }: SealedRepository, context: Context): Promise<Answer> {
  if (branch === null) return findUnpushedDetached(git, context);
  const upstream = await git(['rev-parse', '--symbolic-full-name', '@{upstream}']);
  if ('interrupted' in upstream || ('reason' in upstream && upstream.exitCode === null))
    return toReply(upstream, context);
  const name = 'stdout' in upstream ? upstream.stdout.trim() : null;
  // The upstream may be a local branch, which is not on a remote.
  const onRemotes = name === null || name.startsWith('refs/heads/') ? ['--remotes'] : ['--remotes', name];
  const ahead = await git(['rev-list', '--count', 'HEAD', '--not', ...onRemotes, '--']);
  if (name !== null) return countAhead(ahead, context);
  if ('interrupted' in ahead || ('reason' in ahead && ahead.exitCode === null)) return toReply(ahead, context);
  // The count fails before the first commit.
  return 'stdout' in ahead && ahead.stdout.trim() === '0' ? null : `Branch ${branch} has no upstream`;
}

/** A detached HEAD is pushed if any remote branch contains it. Without a remote the result is an error. */
async function findUnpushedDetached(git: SealedRepository['git'], context: Context): Promise<Answer> {
  const remotes = await git(['for-each-ref', '--count=1', '--format=1', 'refs/remotes/']);
  if (!('stdout' in remotes)) return toReply(remotes, context);
  if (remotes.stdout === '')
    return {
      outcome: 'error',
      reason: 'git: HEAD is detached and there is no remote, so it is unknown whether its commits are pushed',
    };
  return countAhead(await git(['rev-list', '--count', 'HEAD', '--not', '--remotes', '--']), context);
}

function countAhead(answer: GitAnswer, context: Context): Answer {
  if (!('stdout' in answer)) return toReply(answer, context);
  const count = Number(answer.stdout.trim());
  return count === 0 ? null : `${count} ${count === 1 ? 'commit' : 'commits'} not pushed`;
}

// --- errors and timeouts --------------------------------------------------------------------------------------

const toReply = (answer: GitNoAnswer, { timeoutMs }: Context): CheckReply =>
  'interrupted' in answer ? interrupted(answer.interrupted, timeoutMs) : { outcome: 'error', reason: answer.reason };

const interrupted = (by: InterruptionCause, timeoutMs: number): CheckReply =>
  by === 'cancelled' ? cancelled : { outcome: 'timeout', reason: `git took longer than ${formatDuration(timeoutMs)}` };
