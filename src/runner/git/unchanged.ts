/**
 * Finds files that differ from a commit: in the current commit, in the index, in the work tree, or as untracked files.
 * Contents are compared. The index's flags and timestamps could save that work, but an agent can manipulate them.
 */
import { createHash } from 'node:crypto';
import { lstat, readlink, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { matchGlobs } from '../../../machines/index.ts';
import type { Interruption } from '../../timer.ts';
import { quote } from '../reply.ts';
import { hashContents } from './contents.ts';
import { unchangedLfs } from './lfs.ts';
import type { GitAnswer, GitNoAnswer } from './run-git.ts';
import type { SealedRepository } from './sealed-repository.ts';
import { findSparse } from './sparse.ts';

type UnchangedRequest = { readonly globs: readonly string[]; readonly since: string | null };

type Sealed = Pick<SealedRepository, 'git' | 'branch'>;
/** Maps names to `<mode> <object>`. */
type Files = ReadonlyMap<string, string>;
const isFiles = (answer: Files | GitNoAnswer): answer is Files => answer instanceof Map;
type IsIn = (name: string) => boolean;

/** Returns the names that differ, sorted. */
export async function findChangedFiles(
  { globs, since }: UnchangedRequest,
  workTree: string,
  sealed: SealedRepository,
  stop: Interruption,
): Promise<readonly string[] | GitNoAnswer> {
  const isIn = matchGlobs(globs);
  const base = await findBase(since, sealed);
  if (typeof base !== 'string') return base;
  const before = await treeOf(base, isIn, sealed);
  if (!isFiles(before)) return before;
  const changed = new Set<string>();
  for (const read of [() => treeOf('HEAD', isIn, sealed), () => indexOf(isIn, sealed)]) {
    const after = await read();
    if (!isFiles(after)) return after;
    for (const name of differences(before, after)) changed.add(name);
  }
  const untracked = await untrackedNames(isIn, sealed);
  if (!Array.isArray(untracked)) return untracked;
  for (const name of untracked) changed.add(name);
  const edited = await editedFiles(before, changed, { workTree, sealed, stop });
  if (!Array.isArray(edited)) return edited;
  return [...changed, ...edited].sort();
}

// --- base commit ----------------------------------------------------------------------------------------------

/**
 * Returns the commit to compare with: `since`, or the merge base with the upstream, or HEAD. Returns '' before the
 * first commit.
 */
export async function findBase(since: string | null, { git, branch }: Sealed): Promise<string | GitNoAnswer> {
  if (since !== null) {
    const named = await git(['rev-parse', '--verify', '--quiet', `${since}^{commit}`]);
    if ('reason' in named && named.exitCode !== null)
      return { reason: `git: there is no commit ${quote(since)}`, exitCode: named.exitCode };
    return textOf(named);
  }
  const head = await git(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if ('reason' in head && head.exitCode === 1) return '';
  if (!('stdout' in head) || branch === null) return textOf(head);
  const upstream = await git(['rev-parse', '--verify', '--quiet', '@{upstream}^{commit}']);
  // Without an upstream, the exit code depends on the git version.
  if ('reason' in upstream && upstream.exitCode !== null) return textOf(head);
  const commit = textOf(upstream);
  if (typeof commit !== 'string') return commit;
  const shared = await git(['merge-base', 'HEAD', commit]);
  return 'reason' in shared && shared.exitCode === 1 ? textOf(head) : textOf(shared);
}

const textOf = (answer: GitAnswer): string | GitNoAnswer => ('stdout' in answer ? answer.stdout.trim() : answer);

// --- commits and index ----------------------------------------------------------------------------------------

/** A line of `git ls-tree`: `mode type object TAB name`. */
const treeLine = /^(\d+) \w+ ([0-9a-f]+)\t(.+)$/s;
/** A line of `git ls-files --stage`: `mode object stage TAB name`. A merge with conflicts leaves stages other than 0. */
const indexLine = /^(\d+) ([0-9a-f]+ \d)\t(.+)$/s;

async function treeOf(commit: string, isIn: IsIn, sealed: Sealed): Promise<Files | GitNoAnswer> {
  if (commit === '') return new Map();
  const answer = await readLines(['ls-tree', '-r', '-z', '--full-tree', commit], treeLine, isIn, sealed);
  // No commit yet.
  return commit === 'HEAD' && 'reason' in answer && answer.exitCode === 128 ? new Map() : answer;
}

const indexOf = async (isIn: IsIn, sealed: Sealed): Promise<Files | GitNoAnswer> => {
  const staged = await readLines(['ls-files', '--stage', '-z'], indexLine, isIn, sealed);
  if (!isFiles(staged)) return staged;
  return new Map([...staged].map(([name, value]) => [name, value.replace(/ 0$/, '')]));
};

async function readLines(args: string[], line: RegExp, isIn: IsIn, { git }: Sealed): Promise<Files | GitNoAnswer> {
  const answer = await git(args, { only: { test: (part) => isIn(line.exec(part)?.[3] ?? '') } });
  if (!('stdout' in answer)) return answer;
  if (answer.isCut) return tooMany;
  const parts = answer.stdout.split('\0').map((part) => line.exec(part));
  return new Map(parts.flatMap((part) => (part === null ? [] : [[part[3] as string, `${part[1]} ${part[2]}`]])));
}

const tooMany: GitNoAnswer = { reason: 'git: the list of files that must stay exceeds 16 MiB', exitCode: null };

function* differences(one: Files, other: Files): Iterable<string> {
  for (const [name, value] of one) if (other.get(name) !== value) yield name;
  for (const name of other.keys()) if (!one.has(name)) yield name;
}

async function untrackedNames(isIn: IsIn, { git }: Sealed): Promise<string[] | GitNoAnswer> {
  const answer = await git(['ls-files', '--others', '--exclude-standard', '-z'], { only: { test: isIn } });
  if (!('stdout' in answer)) return answer;
  return answer.isCut ? [...tooManyUntracked] : answer.stdout.split('\0').filter((name) => name !== '');
}
/** A single name is enough to fail. */
const tooManyUntracked = ['untracked files'] as const;

// --- the work tree --------------------------------------------------------------------------------------------

type Context = { readonly workTree: string; readonly sealed: SealedRepository; readonly stop: Interruption };

/**
 * Returns the names of `files` whose contents differ in the work tree, apart from conversions (line endings, git-lfs).
 */
async function editedFiles(
  files: Files,
  known: ReadonlySet<string>,
  context: Context,
): Promise<string[] | GitNoAnswer> {
  const { workTree, sealed, stop } = context;
  const folders = new Map<string, Promise<boolean>>();
  const edited: string[] = [];
  const toConvert: string[] = [];
  for (const [name, file] of files) {
    if (stop.cause !== null) return { interrupted: stop.cause };
    // Skip submodules, which are separate repositories.
    if (known.has(name) || file.startsWith('160000')) continue;
    const found = (await isRealFolder(dirname(name), workTree, folders)) ? await compare(name, file, context) : 'other';
    if (found === 'other') edited.push(name);
    if (found === 'convert') toConvert.push(name);
  }
  const candidates = new Set(edited);
  const absent = edited.length === 0 ? [] : await findSparse(sealed, workTree, (name) => candidates.has(name));
  if (!Array.isArray(absent)) return absent;
  const converted = await convertedDiffer(toConvert, files, sealed);
  if (!Array.isArray(converted)) return converted;
  const large = await unchangedLfs(converted, workTree, sealed, stop);
  return [...edited.filter((name) => !absent.includes(name)), ...converted.filter((name) => !large.has(name))];
}

/** Returns false if the folder or one above it is a symlink. `known` caches the results. */
function isRealFolder(folder: string, workTree: string, known: Map<string, Promise<boolean>>): Promise<boolean> {
  const path = join(workTree, folder);
  const found =
    known.get(folder) ??
    realpath(path).then(
      (real) => real === path,
      () => false,
    );
  known.set(folder, found);
  return found;
}

/** `convert`: the contents differ, but may be equal after git's conversions. */
async function compare(name: string, file: string, { workTree, stop }: Context): Promise<'same' | 'other' | 'convert'> {
  const path = join(workTree, name);
  const [mode, object = ''] = file.split(' ');
  const found = await lstat(path).catch(() => null);
  if (mode === '120000') {
    if (!found?.isSymbolicLink()) return 'other';
    const target = await readlink(path, { encoding: 'buffer' }).catch(() => null);
    return target !== null && hashOf(object, target.length).update(target).digest('hex') === object ? 'same' : 'other';
  }
  if (!found?.isFile()) return 'other';
  const hash = await hashContents(path, stop, (size) => hashOf(object, size));
  return hash?.digest('hex') === object ? 'same' : 'convert';
}

/** Creates git's hash of a blob, with the algorithm of the object id `like`. */
const hashOf = (like: string, size: number) =>
  createHash(like.length === 64 ? 'sha256' : 'sha1').update(`blob ${size}\0`);

/** Returns the names whose object ids differ after git's conversions, such as line endings. */
async function convertedDiffer(
  names: readonly string[],
  files: Files,
  { git }: SealedRepository,
): Promise<string[] | GitNoAnswer> {
  if (names.length === 0) return [];
  const answer = await git(['hash-object', '--stdin-paths'], {
    input: names.map((name) => `${quoteC(name)}\n`).join(''),
  });
  if (!('stdout' in answer)) return 'interrupted' in answer ? answer : [...names];
  const objects = answer.stdout.split('\n');
  return names.filter((name, index) => files.get(name)?.split(' ')[1] !== objects[index]);
}

/** Quotes a name as git expects it on stdin. */
const quoteC = (name: string): string =>
  `"${name.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')}"`;
