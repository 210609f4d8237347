/**
 * Creates a temporary git directory that shares a repository's commits, branches and index, but not its configuration.
 * A configuration can name programs (filters, hooks, fsmonitor, a promisor's upload-pack, …), and new git versions add
 * more. So git never reads the original configuration: it is parsed as a file, and only settings that affect how files
 * are compared are copied.
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
  /** The branch without `refs/heads/`, or null if HEAD is detached. */
  readonly branch: string | null;
  close(): Promise<void>;
};
type Sealed = SealedRepository | GitNoAnswer;
type Setting = readonly [key: string, value: string];

/** Shared by all work trees of a repository. `info` contains ignore rules and attributes. */
const sharedNames = ['objects', 'refs', 'packed-refs', 'reftable', 'shallow', 'info'];
/** Settings that affect how files are compared. None of them names a program. */
const comparisons =
  /^core\.(?:filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|checkstat|trustctime|excludesfile|attributesfile)$/;
/**
 * Settings of the storage format. `worktreeConfig` and `partialClone` are excluded: they only add files to read or
 * fetch.
 */
const formats = /^(?:core\.repositoryformatversion|extensions\.(?!worktreeconfig$|partialclone$).+)$/;

/** @param index whether to share the repository's index; pass false to create a separate one */
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
    const foreign = await foreignWorkTree(settings, repository);
    if (foreign !== null)
      return {
        reason: `git: core.worktree points to ${quote(foreign)} instead of ${quote(workTree)}`,
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
    const variables = asVariables([...compared, ...upstreamSettings(settings, branch)]);
    return { branch, close, git: (args, options) => run(args, { ...options, env: { ...env, ...variables } }) };
  }
}

const noSettings = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };

/** Links the shared files. A file that is a symlink out of the allowed folders is skipped, as if it did not exist. */
async function share({ gitDir, commonDir, allowedFolders }: Repository, folder: string, index: boolean): Promise<void> {
  const isIndex = (name: string) => index && (name === 'index' || name.startsWith('sharedindex.'));
  const ownNames = (await readdir(gitDir)).filter(isIndex);
  const shared = sharedNames.map((name) => [commonDir, name] as const);
  for (const [from, name] of [...shared, ...ownNames.map((own) => [gitDir, own] as const)]) {
    const real = await realpath(join(from, name)).catch(() => null);
    if (real !== null && allowedFolders.some((allowed) => isInside(allowed, real)))
      await symlink(real, join(folder, name));
  }
  await writeFile(join(folder, 'HEAD'), (await readSmallFile(join(gitDir, 'HEAD'))) ?? '');
}

/** Reads the settings of the user who runs the service, such as global ignore rules. */
async function readOwnSettings(folder: string, run: RunGit): Promise<Setting[] | GitNoAnswer> {
  const bare = join(folder, 'empty');
  await mkdir(bare);
  // An empty folder is not a repository, so only the user's and the system's settings are listed.
  return parseSettings(await run(['config', '--list', '-z'], { env: { GIT_DIR: bare } }));
}

/** Reads the settings of the repository without included files, which may be outside it. */
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

/** Parses `key LF value NUL`. A key without a value means true. */
function parseSettings(answer: GitAnswer): Setting[] | GitNoAnswer {
  if (!('stdout' in answer)) return answer;
  return answer.stdout.split('\0').flatMap((line) => {
    if (line === '') return [];
    const end = line.indexOf('\n');
    return [end < 0 ? ([line, 'true'] as const) : ([line.slice(0, end), line.slice(end + 1)] as const)];
  });
}

const isTrue = (value: string): boolean => /^(?:true|yes|on|1)$/i.test(value);

/**
 * A `.git` may point to a bare repository. A linked worktree of a bare repository is fine: it has its own directory
 * there.
 */
const isBare = (settings: readonly Setting[], { gitDir, commonDir }: Repository): boolean =>
  gitDir === commonDir && isTrue(settings.findLast(([key]) => key === 'core.bare')?.[1] ?? 'false');

/** Returns `core.worktree` if it points to another folder, otherwise null. Submodules set it to their own folder. */
async function foreignWorkTree(settings: readonly Setting[], { workTree, gitDir }: Repository): Promise<string | null> {
  const named = settings.findLast(([key]) => key === 'core.worktree')?.[1];
  if (named === undefined) return null;
  const real = await realpath(resolve(gitDir, named)).catch(() => null);
  return real === workTree ? null : named;
}

/** Returns the upstream settings of a branch: the only settings whose keys contain names chosen by the repository. */
function upstreamSettings(settings: readonly Setting[], branch: string | null): Setting[] {
  if (branch === null) return [];
  const ofBranch = [`branch.${branch}.remote`, `branch.${branch}.merge`];
  const remote = settings.findLast(([key]) => key === ofBranch[0])?.[1];
  return settings.filter(([key]) => ofBranch.includes(key) || key === `remote.${remote}.fetch`);
}

/** Formats a setting for the config file. Git reads storage format settings only from there. */
function formatLine([key, value]: Setting): string {
  const dot = key.indexOf('.');
  const escaped = value.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n');
  return `[${key.slice(0, dot)}]\n\t${key.slice(dot + 1)} = "${escaped}"\n`;
}

const asVariables = (settings: readonly Setting[]): Record<string, string> =>
  Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(settings.length)],
    ...settings.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]);
