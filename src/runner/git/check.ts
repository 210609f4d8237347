/**
 * The `git` check: is everything in the worker's repository committed, and pushed, and has what must stay not changed?
 * (protocol.md §8) It fails with what it knows: a failure that was found counts even if something else could not be looked at. It writes nothing into the
 * repository and runs nothing that the repository names (sealed-repository.ts).
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
import { unchangedLfs } from './contents.ts';
import { findRepository, isLinkedWorktree, openRepository, type Repository } from './find-repository.ts';
import { createRunGit, type GitAnswer, type GitNoAnswer, type GitPlace } from './run-git.ts';
import { type SealedRepository, sealRepository } from './sealed-repository.ts';
import { findChangedFiles } from './unchanged.ts';

export type GitRequest = Extract<RunRequest, { kind: 'git' }>;

type GitAspects = Pick<GitRequest, 'clean' | 'pushed' | 'unchanged' | 'since'>;

export const gitTimeoutMs = checkTimeoutMs;
const namesMax = 3; // as many as a plan's titles

type Context = { readonly place: GitCheckPlace; readonly stop: Interruption; readonly timeoutMs: number };
/** `git`: what counts as uncommitted work. */
export type GitCheckPlace = GitPlace & { readonly git: GitConfig };
/** A sentence against it, or why nobody can tell. Null: there is nothing against it. */
type Answer = string | CheckReply | null;

/** @param timeoutMs for the message; the clock is `stop`'s */
export async function checkGit(
  request: GitRequest,
  place: GitCheckPlace,
  { stop, timeoutMs }: Pick<Context, 'stop' | 'timeoutMs'>,
): Promise<CheckReply> {
  const context = { place, stop, timeoutMs };
  const repository = await Promise.race([locate(request, place), stop.happened]);
  if (typeof repository === 'string') return interrupted(repository, timeoutMs);
  if ('reason' in repository) return { outcome: 'error', reason: repository.reason };
  const answers = await inspect(repository, request, context);
  const failures = answers.filter((answer) => typeof answer === 'string');
  const unknown = answers.filter((answer) => answer !== null && typeof answer === 'object');
  const abandoned = unknown.find((finding) => finding === cancelled);
  if (abandoned !== undefined) return abandoned;
  return failures.length === 0 ? (unknown[0] ?? { outcome: 'pass' }) : { outcome: 'fail', reason: failures.join('; ') };
}

async function locate({ cwd }: GitRequest, place: GitPlace): Promise<Repository | { readonly reason: string }> {
  const folder = await findWorkerFolder(cwd, place);
  return 'reason' in folder ? folder : findRepository(folder.path, place.roots);
}

/** One answer for each aspect that is asked for. */
async function inspect(
  repository: Repository,
  { clean, pushed, unchanged = [], since = null }: GitAspects,
  context: Context,
): Promise<Answer[]> {
  const run = createRunGit(context.place, repository.workTree, context.stop);
  const sealed = await sealRepository(repository, run);
  if (!('git' in sealed)) return [findingOf(sealed, context)];
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

/** Returns null if nothing differs. */
function answerOfChanged(changed: readonly string[] | GitNoAnswer, context: Context): Answer {
  if (!Array.isArray(changed)) return findingOf(changed as GitNoAnswer, context);
  return changed.length === 0 ? null : `Changed files that must stay: ${listNames(changed)}`;
}

const listNames = (names: readonly string[]): string =>
  `${names.slice(0, namesMax).join(', ')}${names.length > namesMax ? ', …' : ''}`;

// --- clean ----------------------------------------------------------------------------------------------------

async function findUncommitted(repository: Repository, sealed: SealedRepository, context: Context): Promise<Answer> {
  const own = await changedNames(repository, sealed, context);
  if (!Array.isArray(own)) return own;
  const inside = await changedSubmodules(repository, sealed, context);
  const names = [...new Set([...own, ...inside.names])];
  if (names.length === 0) return inside.unknown;
  return `Uncommitted changes: ${listNames(names)}`;
}

/** The arguments do not look into submodules: git would start a program there that reads their configuration. */
const statusArguments = ({ untracked, worktrees }: GitConfig) => [
  'status',
  '--porcelain=v1',
  '-z',
  '--ignore-submodules=dirty',
  // Of equal contents only: a partial clone lacks the contents that others would be compared with.
  '--find-renames=100%',
  // `normal` names a folder alone, and so hides what lies beside a worktree in it.
  `--untracked-files=${untracked === 'ignore' ? 'no' : worktrees === 'ignore' ? 'all' : 'normal'}`,
];

async function changedNames(
  repository: Repository,
  sealed: SealedRepository,
  context: Context,
): Promise<string[] | CheckReply> {
  const { workTree } = repository;
  const { git } = context.place;
  const status = await sealed.git(statusArguments(git));
  if (!('stdout' in status)) return findingOf(status, context);
  const found = readStatus(status.stdout);
  const changes = git.worktrees === 'ignore' ? await withoutWorktrees(found, repository) : found;
  const touched = changes.filter(({ code }) => code === ' M').map(({ name }) => name);
  const unchanged = await unchangedLfs(touched, workTree, sealed, context.stop);
  const names = changes.map(({ name }) => name).filter((name) => !unchanged.has(name));
  if (names.length > 0 || !status.isCut) return names;
  return {
    outcome: 'error',
    reason: 'git: there are more files under git-lfs to compare than fit into 16 MiB of names',
  };
}

/**
 * Leaves out linked worktrees of this repository that lie inside it, where some agents put those of their subagents. Each
 * is a work tree of its own, with a branch of its own. Any other repository is untracked work.
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

/** `XY name` by NUL; a rename is followed by the old name, which is no change of its own. Git may see it in either column. */
function readStatus(status: string): Change[] {
  const parts = status.split('\0');
  const changes: Change[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] ?? '';
    if (part.length < 4) continue;
    const code = part.slice(0, 2);
    changes.push({ code, name: part.slice(3) });
    if (/[RC]/.test(code)) at += 1;
  }
  return changes;
}

/** Each is a repository of its own. One that nobody has checked out has no `.git`, and nothing that could be lost. */
async function changedSubmodules(
  { workTree }: Repository,
  { git }: SealedRepository,
  context: Context,
): Promise<{ readonly names: readonly string[]; readonly unknown: CheckReply | null }> {
  const listed = await git(['ls-files', '--stage', '-z'], { only: submoduleLine });
  if (!('stdout' in listed)) return { names: [], unknown: findingOf(listed, context) };
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

/** `mode object stage TAB name`: the mode of a submodule is 160000. */
const submoduleLine = /^160000 [0-9a-f]+ \d\t(.+)$/s;

async function inspectSubmodule(path: string, around: string, context: Context): Promise<Answer> {
  const repository = (await realpath(path)) === path ? await openRepository(path, [around]) : null;
  if (repository === null) return { outcome: 'error', reason: `git: the submodule ${quote(path)} is a symlink` };
  if ('reason' in repository) return { outcome: 'error', reason: repository.reason };
  const [answer = null] = await inspect(repository, { clean: true, pushed: false, unchanged: [] }, context);
  return answer;
}

// --- pushed ---------------------------------------------------------------------------------------------------

/**
 * A commit is pushed if a branch of a remote has it, under whatever name: a branch that was made from `origin/main` has that
 * as its upstream, and is pushed under its own name.
 */
async function findUnpushed({ git, branch }: SealedRepository, context: Context): Promise<Answer> {
  if (branch === null) return findUnpushedDetached(git, context);
  const upstream = await git(['rev-parse', '--symbolic-full-name', '@{upstream}']);
  if ('interrupted' in upstream || ('reason' in upstream && upstream.exitCode === null))
    return findingOf(upstream, context);
  const name = 'stdout' in upstream ? upstream.stdout.trim() : null;
  // A branch of this repository may be an upstream too, and is on no remote.
  const onRemotes = name === null || name.startsWith('refs/heads/') ? ['--remotes'] : ['--remotes', name];
  const ahead = await git(['rev-list', '--count', 'HEAD', '--not', ...onRemotes, '--']);
  if (name !== null) return countAhead(ahead, context);
  if ('interrupted' in ahead || ('reason' in ahead && ahead.exitCode === null)) return findingOf(ahead, context);
  // Without a commit there is nothing to count.
  return 'stdout' in ahead && ahead.stdout.trim() === '0' ? null : `Branch ${branch} has no upstream`;
}

/** A commit on no branch is pushed if a branch of a remote has it. Without any remote nobody can say where it should be. */
async function findUnpushedDetached(git: SealedRepository['git'], context: Context): Promise<Answer> {
  const remotes = await git(['for-each-ref', '--count=1', '--format=1', 'refs/remotes/']);
  if (!('stdout' in remotes)) return findingOf(remotes, context);
  if (remotes.stdout === '')
    return {
      outcome: 'error',
      reason: 'git: HEAD is on no branch, and there is no remote that could have its commits',
    };
  return countAhead(await git(['rev-list', '--count', 'HEAD', '--not', '--remotes', '--']), context);
}

function countAhead(answer: GitAnswer, context: Context): Answer {
  if (!('stdout' in answer)) return findingOf(answer, context);
  const count = Number(answer.stdout.trim());
  return count === 0 ? null : `${count} ${count === 1 ? 'commit' : 'commits'} not pushed`;
}

// --- nobody can tell ------------------------------------------------------------------------------------------

const findingOf = (answer: GitNoAnswer, { timeoutMs }: Context): CheckReply =>
  'interrupted' in answer ? interrupted(answer.interrupted, timeoutMs) : { outcome: 'error', reason: answer.reason };

const interrupted = (by: InterruptionCause, timeoutMs: number): CheckReply =>
  by === 'cancelled' ? cancelled : { outcome: 'timeout', reason: `git took longer than ${formatDuration(timeoutMs)}` };
