/** Resolves the links in names of folders and files, as far as this machine knows them. */
import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';

/** A file system that is away must not hold up an agent: then the name counts as it is. */
const waitMs = 500;
/** Parts of a path that need not exist: a file that was deleted, or is in a new folder. */
const missingMax = 64;

export async function resolveLinks(paths: Iterable<string>): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const all = Promise.all([...paths].map(async (path) => found.set(path, await resolve(path))));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((done) => {
    timer = setTimeout(done, waitMs);
  });
  await Promise.race([all, late]);
  clearTimeout(timer);
  return new Map(found);
}

/** The end of a path that does not exist stays as it is. */
async function resolve(path: string): Promise<string> {
  if (!isAbsolute(path)) return path;
  let existing = path;
  for (let count = 0; count < missingMax; count += 1) {
    try {
      const real = await realpath(existing);
      return existing === path ? real : join(real, relative(existing, path));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR') return path;
    }
    const above = dirname(existing);
    if (above === existing) return path;
    existing = above;
  }
  return path;
}
