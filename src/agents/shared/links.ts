/** Resolves symbolic links in folder and file names, as far as they exist on this machine. */
import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';

/** An unavailable file system must not delay an agent. After this time the path stays unresolved. */
const timeoutMs = 500;
/** Trailing parts of a path that may be missing, for example a deleted file or a new folder. */
const missingMax = 64;

export async function resolveLinks(paths: Iterable<string>): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const all = Promise.all([...paths].map(async (path) => found.set(path, await resolve(path))));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((done) => {
    timer = setTimeout(done, timeoutMs);
  });
  await Promise.race([all, late]);
  clearTimeout(timer);
  return new Map(found);
}

/** Resolves the existing part of the path and keeps the rest. */
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
