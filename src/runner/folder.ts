/** Resolves the folder of a check. A worker's folder comes over the wire, so it must be inside the runner's roots. */
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { quote } from './reply.ts';

/** `path`: the folder's real path, without symlinks. `reason`: why the folder cannot be used. */
export type Folder = { readonly path: string } | { readonly reason: string };

/**
 * `roots`: absolute paths; one that does not exist is ignored. `baseDir`: the folder of the configuration, absolute.
 */
export type Workspace = { readonly roots: readonly string[]; readonly baseDir: string };

/** @param cwd the worker's folder; null means the folder of the configuration */
export async function findWorkerFolder(cwd: string | null, { roots, baseDir }: Workspace): Promise<Folder> {
  if (cwd === null) return findFolder(baseDir, 'the folder of the configuration');
  if (!isAbsolute(cwd)) return { reason: `the worker's folder ${quote(cwd)} is not an absolute path` };
  const folder = await findFolder(cwd, "the worker's folder");
  if ('reason' in folder) return folder;
  for (const root of roots) {
    const real = await realpath(root).catch(() => null);
    if (real !== null && isInside(real, folder.path)) return folder;
  }
  const fix = 'to allow it, name it or a folder above it under roots: in the configuration of the runner';
  return { reason: `the worker's folder ${quote(cwd)} is outside the runner's roots; ${fix}` };
}

/** Resolves a folder from the configuration, relative to `baseDir`. It is trusted, so roots do not apply. */
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

/** Compares two absolute paths without resolving symlinks. A folder is inside itself. */
export function isInside(parent: string, path: string): boolean {
  const fromParent = relative(parent, path);
  return fromParent !== '..' && !fromParent.startsWith(`..${sep}`) && !isAbsolute(fromParent);
}
