import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitNoAnswer } from './run-git.ts';
import type { SealedRepository } from './sealed-repository.ts';

/**
 * Returns the wanted files that a sparse checkout omits: they are marked in the index and do not exist.
 * @param sealed a repository with the index of the original
 */
export async function findSparse(
  { git }: Pick<SealedRepository, 'git'>,
  workTree: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<string[] | GitNoAnswer> {
  const listed = await git(['ls-files', '-t', '-z'], {
    only: { test: (part) => part.startsWith('S ') && isWanted(part.slice(2)) },
  });
  if (!('stdout' in listed)) return listed;
  const skipped = listed.stdout.split('\0').flatMap((part) => (part === '' ? [] : [part.slice(2)]));
  const found = await Promise.all(skipped.map((name) => lstat(join(workTree, name)).catch(() => null)));
  return skipped.filter((_, index) => found[index] === null);
}
