/**
 * Passes of commands with `reuse: tree`: a command that passed is not run again while the git state of its folder and the
 * command itself are the same, for the same task: a command may read `STOPGATE_TASK`, and so may all that it runs. Failures
 * are never kept. Passes are in memory alone: a new process, and a changed
 * configuration, know of none.
 */
import { createHash, type Hash } from 'node:crypto';
import { lstat, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckReply } from '../host/effects/check-reply.ts';
import { setNewest } from '../newest.ts';
import type { Interruption } from '../timer.ts';
import { hashContents } from './git/contents.ts';
import { findRepository } from './git/find-repository.ts';
import { createRunGit, type GitPlace } from './git/run-git.ts';
import { type SealedRepository, sealRepository } from './git/sealed-repository.ts';

export type KeptPasses = {
  /** Runs it, unless it has passed in this state. Outside git it always runs. */
  takeOrRun(command: KeptCommand, run: () => Promise<CheckReply>): Promise<CheckReply>;
  clear(): void;
};
/** `config`: all that its configuration says. `folder`: a real path. */
export type KeptCommand = {
  readonly name: string;
  readonly config: object;
  /** The task that was claimed last; null: none is held. */
  readonly task: string | null;
  readonly folder: string;
  readonly place: GitPlace;
  readonly stop: Interruption;
};

/** The states of the last days, for the folders of a machine. Each takes some hundred bytes. */
const passesMax = 1_000;

export function createKeptPasses(): KeptPasses {
  /** When each ran, the oldest first. */
  const passes = new Map<string, string>();
  return {
    async takeOrRun(command, run) {
      const key = await keyOf(command);
      const known = key === null ? undefined : passes.get(key);
      if (known !== undefined) return { outcome: 'pass', metadata: { reused: known } };
      const at = new Date().toISOString();
      const finding = await run();
      // What changed the folder while it ran, or the command itself, may have made it pass.
      if (key !== null && finding.outcome === 'pass' && (await keyOf(command)) === key)
        setNewest(passes, key, at, passesMax);
      return finding;
    },
    clear: () => passes.clear(),
  };
}

async function keyOf({ name, config, task, folder, place, stop }: KeptCommand): Promise<string | null> {
  const state = await readTreeState(folder, place, stop);
  if (state === null || stop.cause !== null) return null;
  return createHash('sha256')
    .update(JSON.stringify([name, config, task, folder, state]))
    .digest('hex');
}

// The git state of a folder as one digest: the current commit, the index, and the contents of every file that is
// tracked or could be. Contents are read, since an agent can write what the index says of them. Ignored files are
// left out.

/** More files than this take longer to read than most checks take to run. */
const filesMax = 100_000;
const bytesMax = 2 ** 31;

/** `folder`: a real path. Null: it is in no repository, or in one whose state is not known; then nothing may be reused. */
async function readTreeState(folder: string, place: GitPlace, stop: Interruption): Promise<string | null> {
  const repository = await findRepository(folder, [...place.roots, folder]);
  if ('reason' in repository) return null;
  const { workTree } = repository;
  const sealed = await sealRepository(repository, createRunGit(place, workTree, stop));
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
  // Before the first commit there is none.
  if (!('stdout' in head) && !('exitCode' in head && head.exitCode === 1)) return null;
  const index = await git(['ls-files', '--stage', '-z']);
  const listed = await git(['ls-files', '--cached', '--others', '--exclude-standard', '-z']);
  if (!('stdout' in index) || !('stdout' in listed) || index.isCut || listed.isCut) return null;
  // A repository within, a submodule or not, has a state of its own.
  if (/(?:^|\0)160000 /.test(index.stdout)) return null;
  const files = listed.stdout.split('\0').filter((name) => name !== '');
  if (files.length > filesMax || files.some((name) => name.endsWith('/'))) return null;
  const commit = 'stdout' in head ? head.stdout.trim() : '';
  return { head: `${branch ?? ''} ${commit}`, index: index.stdout, files };
}

/** Returns false if they could not all be read. */
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
