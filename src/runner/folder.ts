/** The folder of a check. A worker's own comes over the wire, so it counts only inside the runner's roots. */
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { quote } from './reply.ts';

/** `path`: a real path (no symlinks left) of a folder; `reason`: why there is none. */
export type Folder = { readonly path: string } | { readonly reason: string };

/** `roots`: absolute; one that does not exist contains nothing. `baseDir`: the folder of the configuration, absolute. */
export type WorkerPlace = { readonly roots: readonly string[]; readonly baseDir: string };

/** A worker that named no `cwd` works in the folder of the configuration. */
export async function findWorkerFolder(cwd: string | null, { roots, baseDir }: WorkerPlace): Promise<Folder> {
  if (cwd === null) return findFolder(baseDir, 'the folder of the configuration');
  if (!isAbsolute(cwd)) return { reason: `the worker's folder ${quote(cwd)} is not an absolute path` };
  const folder = await findFolder(cwd, "the worker's folder");
  if ('reason' in folder) return folder;
  for (const root of roots) {
    const real = await realpath(root).catch(() => null);
    if (real !== null && isInside(real, folder.path)) return folder;
  }
  const way = 'to allow it, name it or a folder above it under roots: in the configuration of the runner';
  return { reason: `the worker's folder ${quote(cwd)} is outside the runner's roots; ${way}` };
}

/** A folder from the configuration, relative to `baseDir`. The operator wrote it, so roots do not matter. */
export const findFixedFolder = (cwd: string, baseDir: string) =>
  findFolder(resolve(baseDir, cwd), "the command's folder");

async function findFolder(path: string, what: string): Promise<Folder> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? { path: real } : { reason: `${what} ${quote(path)} is not a folder` };
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return { reason: `${what} ${quote(path)} ${code === 'ENOENT' ? 'does not exist' : `cannot be used (${code})`}` };
  }
}

/** Both absolute, and real where it matters. A folder is inside itself. */
export function isInside(parent: string, path: string): boolean {
  const way = relative(parent, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
