/**
 * Files of a work tree by their contents, which are the agent's: read without waiting, by no symlink, and no longer than
 * the check may run.
 */
import { createHash, type Hash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Interruption } from '../../timer.ts';
import type { SealedRepository } from './sealed-repository.ts';

// Large files of git-lfs without git-lfs. The index has a pointer with the file's hash where the work tree has the file.
// Git tells them apart by the index's times and sizes; where those do not settle it, its filter would be asked, which is
// a program that the repository names. The hash in the pointer settles it too.

/** A pointer as in the specification of git-lfs, version 1. */
const pointer =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\nsize (\d+)\n$/;

/** Returns the files of `names`, which git takes for changed, that are what their pointers say. */
export async function unchangedLfs(
  names: readonly string[],
  workTree: string,
  { git }: SealedRepository,
  stop: Interruption,
): Promise<ReadonlySet<string>> {
  const unchanged = new Set<string>();
  for (const name of await lfsNames(names, git)) {
    if (stop.cause !== null) break;
    if (await isAsPointed(name, workTree, git, stop)) unchanged.add(name);
  }
  return unchanged;
}

async function lfsNames(names: readonly string[], git: SealedRepository['git']): Promise<readonly string[]> {
  if (names.length === 0) return [];
  const answer = await git(['check-attr', '-z', '--stdin', 'filter'], { input: `${names.join('\0')}\0` });
  if (!('stdout' in answer)) return [];
  // `name NUL filter NUL value NUL`
  const parts = answer.stdout.split('\0');
  return parts.filter((_, at) => at % 3 === 0 && parts[at + 2] === 'lfs');
}

async function isAsPointed(
  name: string,
  workTree: string,
  git: SealedRepository['git'],
  stop: Interruption,
): Promise<boolean> {
  const answer = await git(['cat-file', 'blob', `:0:${name}`]);
  const [, hash, size] = 'stdout' in answer ? (pointer.exec(answer.stdout) ?? []) : [];
  if (hash === undefined) return false;
  const begin = (found: number) => (found === Number(size) ? createHash('sha256') : null);
  const digest = await hashContents(join(workTree, name), stop, begin);
  return digest?.digest('hex') === hash;
}

const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Adds the contents to a hash. `begin` gets the size in bytes, and gives the hash, or null where that settles it.
 * @returns that hash; null: it is no file, it cannot be read, it is being written, or `stop` came first
 */
export async function hashContents(
  path: string,
  stop: Interruption,
  begin: (size: number) => Hash | null,
): Promise<Hash | null> {
  const file = await open(path, flags).catch(() => null);
  if (file === null) return null;
  try {
    const found = await file.stat();
    const hash = found.isFile() ? begin(found.size) : null;
    if (hash === null) return null;
    for await (const chunk of createReadStream('', { fd: file, autoClose: false })) {
      if (stop.cause !== null) return null;
      hash.update(chunk);
    }
    return hash;
  } catch {
    return null;
  } finally {
    await file.close();
  }
}
