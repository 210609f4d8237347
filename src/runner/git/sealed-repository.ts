/**
 * A git directory of our own that shows a repository's commits, branches and index, and none of its configuration. A
 * configuration can name programs (filters, hooks, fsmonitor, a promisor's upload-pack, …), and new versions of git add
 * more of them. So git never reads it: it is parsed as a file, and only what changes how files are compared is taken.
 */
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isInside } from '../folder.ts';
import { quote } from '../reply.ts';
import { bareText, type Repository, readSmallFile } from './find-repository.ts';
import type { GitAnswer, GitFailure, GitNoAnswer, RunGit, RunOptions } from './run-git.ts';

export type SealedRepository = {
  readonly git: (args: readonly string[], options?: Omit<RunOptions, 'env'>) => Promise<GitAnswer>;
  /** The branch without `refs/heads/`; null: HEAD is detached. */
  readonly branch: string | null;
  close(): Promise<void>;
};
type Sealed = SealedRepository | GitNoAnswer;
type Setting = readonly [key: string, value: string];

/** Shared by all work trees of a repository. `info`: what is ignored, and attributes. */
const sharedNames = ['objects', 'refs', 'packed-refs', 'reftable', 'shallow', 'info'];
/** The settings by which files are compared. None of them names a program. */
const comparisons =
  /^core\.(?:filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|checkstat|trustctime|excludesfile|attributesfile)$/;
/**
 * The settings by which the repository is stored. `worktreeConfig` and `partialClone` only say what else to read or to
 * fetch.
 */
const formats = /^(?:core\.repositoryformatversion|extensions\.(?!worktreeconfig$|partialclone$).+)$/;

/** @param index false: without the repository's own index, for whoever makes one */
export async function sealRepository(repository: Repository, run: RunGit, index = true): Promise<Sealed> {
  const { workTree } = repository;
  const folder = await mkdtemp(join(tmpdir(), 'stopgate-git-'));
  const close = () => rm(folder, { recursive: true, force: true });
  const sealed = await fill().catch(
    (error: NodeJS.ErrnoException): GitFailure => ({ reason: `git: ${error.message}`, exitCode: null }),
  );
  if (!('git' in sealed)) await close();
  return sealed;

  async function fill(): Promise<Sealed> {
    const own = await readOwnSettings(folder, run);
    if (!Array.isArray(own)) return own;
    const settings = await readSettings(repository, run);
    if (!Array.isArray(settings)) return settings;
    if (isBare(settings, repository)) return { reason: `git: ${quote(repository.gitDir)} ${bareText}`, exitCode: null };
    const elsewhere = await foreignWorkTree(settings, repository);
    if (elsewhere !== null)
      return {
        reason: `git: core.worktree leads to ${quote(elsewhere)}, away from ${quote(workTree)}`,
        exitCode: null,
      };
    await share(repository, folder, index);
    const format = settings.filter(([key]) => formats.test(key));
    await writeFile(join(folder, 'config'), format.map(formatLine).join(''));
    const env = { ...noSettings, GIT_DIR: folder, GIT_WORK_TREE: workTree };
    const head = await run(['symbolic-ref', '-q', 'HEAD'], { env });
    if (!('stdout' in head) && !('exitCode' in head && head.exitCode === 1)) return head;
    const branch = 'stdout' in head ? head.stdout.trim().replace(/^refs\/heads\//, '') : null;
    const compared = [...own, ...settings].filter(([key]) => comparisons.test(key));
    const given = asVariables([...compared, ...upstreamSettings(settings, branch)]);
    return { branch, close, git: (args, options) => run(args, { ...options, env: { ...env, ...given } }) };
  }
}

const noSettings = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };

/**
 * Shares the repository by symlinks. One that leads out of the repository's places is left out, as if the file did not
 * exist.
 */
async function share({ gitDir, commonDir, places }: Repository, folder: string, index: boolean): Promise<void> {
  const isIndex = (name: string) => index && (name === 'index' || name.startsWith('sharedindex.'));
  const ownNames = (await readdir(gitDir)).filter(isIndex);
  const shared = sharedNames.map((name) => [commonDir, name] as const);
  for (const [from, name] of [...shared, ...ownNames.map((own) => [gitDir, own] as const)]) {
    const real = await realpath(join(from, name)).catch(() => null);
    if (real !== null && places.some((place) => isInside(place, real))) await symlink(real, join(folder, name));
  }
  await writeFile(join(folder, 'HEAD'), (await readSmallFile(join(gitDir, 'HEAD'))) ?? '');
}

/** Reads the settings of the user who runs the service, such as which files they ignore everywhere. */
async function readOwnSettings(folder: string, run: RunGit): Promise<Setting[] | GitNoAnswer> {
  const bare = join(folder, 'empty');
  await mkdir(bare);
  // A folder that is no repository, so that only the user's and the system's settings are listed.
  return parseSettings(await run(['config', '--list', '-z'], { env: { GIT_DIR: bare } }));
}

/** Reads the settings of the repository, without included files: a file outside of it is none of its own. */
async function readSettings({ gitDir, commonDir }: Repository, run: RunGit): Promise<Setting[] | GitNoAnswer> {
  const shared = await readFileSettings(join(commonDir, 'config'), run);
  if (!Array.isArray(shared) || !shared.some(([key, value]) => key === 'extensions.worktreeconfig' && isTrue(value)))
    return shared;
  const ofWorkTree = await readFileSettings(join(gitDir, 'config.worktree'), run);
  return Array.isArray(ofWorkTree) ? [...shared, ...ofWorkTree] : ofWorkTree;
}

async function readFileSettings(file: string, run: RunGit): Promise<Setting[] | GitNoAnswer> {
  if ((await readSmallFile(file)) === undefined) return [];
  return parseSettings(await run(['config', '--file', file, '--no-includes', '--list', '-z']));
}

/** `key LF value NUL`; a key without a value is true. */
function parseSettings(answer: GitAnswer): Setting[] | GitNoAnswer {
  if (!('stdout' in answer)) return answer;
  return answer.stdout.split('\0').flatMap((line) => {
    if (line === '') return [];
    const end = line.indexOf('\n');
    return [end < 0 ? ([line, 'true'] as const) : ([line.slice(0, end), line.slice(end + 1)] as const)];
  });
}

const isTrue = (value: string): boolean => /^(?:true|yes|on|1)$/i.test(value);

/** A `.git` may lead to one; a linked worktree of a bare repository has a directory of its own there. */
const isBare = (settings: readonly Setting[], { gitDir, commonDir }: Repository): boolean =>
  gitDir === commonDir && isTrue(settings.findLast(([key]) => key === 'core.bare')?.[1] ?? 'false');

/** Submodules have one, which leads to their own folder. Null: it leads nowhere else. */
async function foreignWorkTree(settings: readonly Setting[], { workTree, gitDir }: Repository): Promise<string | null> {
  const named = settings.findLast(([key]) => key === 'core.worktree')?.[1];
  if (named === undefined) return null;
  const real = await realpath(resolve(gitDir, named)).catch(() => null);
  return real === workTree ? null : named;
}

/** Which branch the current one is pushed to: the only settings with names that are not git's own. */
function upstreamSettings(settings: readonly Setting[], branch: string | null): Setting[] {
  if (branch === null) return [];
  const ofBranch = [`branch.${branch}.remote`, `branch.${branch}.merge`];
  const remote = settings.findLast(([key]) => key === ofBranch[0])?.[1];
  return settings.filter(([key]) => ofBranch.includes(key) || key === `remote.${remote}.fetch`);
}

/** Writes a setting as a line of the file itself: git looks for these nowhere else. */
function formatLine([key, value]: Setting): string {
  const dot = key.indexOf('.');
  const escaped = value.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n');
  return `[${key.slice(0, dot)}]\n\t${key.slice(dot + 1)} = "${escaped}"\n`;
}

const asVariables = (settings: readonly Setting[]): Record<string, string> =>
  Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(settings.length)],
    ...settings.flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ]);
