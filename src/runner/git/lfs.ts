/**
 * Compares git-lfs files without git-lfs. The index contains a pointer with the file's hash. If the index's times and
 * sizes do not prove that a file is unchanged, git would run the lfs filter, which is a program named by the
 * repository. Comparing the hash in the pointer gives the same result.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Interruption } from '../../timer.ts';
import { hashContents } from './contents.ts';
import type { SealedRepository } from './sealed-repository.ts';

/** A git-lfs pointer, version 1 of the specification. */
const pointer =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\nsize (\d+)\n$/;

/** Returns the git-lfs files among `names`, which git reported as changed, that match their pointers. */
export async function unchangedLfs(
  names: readonly string[],
  workTree: string,
  { git }: SealedRepository,
  stop: Interruption,
): Promise<ReadonlySet<string>> {
  const unchanged = new Set<string>();
  for (const name of await lfsNames(names, git)) {
    if (stop.cause !== null) break;
    if (await matchesPointer(name, workTree, git, stop)) unchanged.add(name);
  }
  return unchanged;
}

async function lfsNames(names: readonly string[], git: SealedRepository['git']): Promise<readonly string[]> {
  if (names.length === 0) return [];
  const answer = await git(['check-attr', '-z', '--stdin', 'filter'], { input: `${names.join('\0')}\0` });
  if (!('stdout' in answer)) return [];
  // `name NUL filter NUL value NUL`
  const parts = answer.stdout.split('\0');
  return parts.filter((_, index) => index % 3 === 0 && parts[index + 2] === 'lfs');
}

async function matchesPointer(
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
