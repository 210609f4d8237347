/**
 * Converts the file names of a tool call into the form that policies match: relative to the worker's folder, with
 * forward slashes.
 */
import { posix, win32 } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pathLengthMax } from '../../../machines/values/limits.ts';

/** Resolves the links in an absolute path. Returns the path unchanged if that fails, for example on another machine. */
export type RealPath = (path: string) => string;
export const keepLinks: RealPath = (path) => path;

/** Limit for a name as given. It becomes shorter once it is relative to the root. */
const pathCharsMax = 4_096;
const filesMax = 100;
/** Limit for all files of a call. The rest of an entry (64 KiB) is left to its envelope. */
const filesBytesMax = 48 * 1024;

/**
 * `inRoot` is the subset of `files` inside the root. `areAllInRoot` is false if any named file is outside the root,
 * cannot be located, or was left out.
 */
export type ResolvedFiles = {
  readonly files: readonly string[];
  readonly inRoot: readonly string[];
  readonly areAllInRoot: boolean;
};

/**
 * A file outside the root, or one that cannot be located, keeps the name that the agent used.
 * @param root the worker's folder
 * @param from the base of relative names
 */
export function resolveFiles(
  named: readonly unknown[],
  { root, from, realPath }: { readonly root: string | null; readonly from: string | null; readonly realPath: RealPath },
): ResolvedFiles {
  const texts = named.filter((file): file is string => typeof file === 'string' && file !== '');
  const distinct = [...new Set(texts)];
  const kept = distinct.filter((file) => file.length <= pathCharsMax).slice(0, filesMax);
  let areAllInRoot = texts.length === named.length && kept.length === distinct.length;
  const realRoot = root === null || kept.length === 0 ? root : realPath(normalFolder(root));
  const files: string[] = [];
  const inRoot: string[] = [];
  let bytes = 0;
  for (const file of kept) {
    const within = pathInRoot(file, realRoot, from, realPath);
    areAllInRoot &&= within !== null;
    const shown = within ?? file;
    bytes += Buffer.byteLength(JSON.stringify(shown)) + 1;
    if (shown.length > pathLengthMax || bytes > filesBytesMax) areAllInRoot = false;
    else if (!files.includes(shown)) {
      files.push(shown);
      if (within !== null) inRoot.push(shown);
    }
  }
  return { files, inRoot, areAllInRoot };
}

/**
 * Merges two lists of names for the same files, relative to different folders. Returns null if they exceed an entry.
 * @param first names relative to the earlier folder. They come first, so that the list ends with a current name.
 */
export function mergeNames(first: readonly string[], second: readonly string[]): readonly string[] | null {
  const names = [...new Set([...first, ...second])];
  return Buffer.byteLength(JSON.stringify(names)) > filesBytesMax ? null : names;
}

/** The path relative to the root, or null if the file is outside or cannot be located. */
function pathInRoot(file: string, root: string | null, from: string | null, realPath: RealPath): string | null {
  const path = pathsOf(root ?? from ?? '/');
  const named = path === win32 ? fromShellPath(plainPath(file)) : plainPath(file);
  // The home folder behind a tilde is unknown here, and a drive cannot be inside a POSIX root.
  if (named.startsWith('~') || (path === posix && isWindows(named))) return null;
  if (root === null || !path.isAbsolute(root)) {
    // Without a root, only relative names that do not leave their base are usable.
    const below = path.normalize(named);
    return path.isAbsolute(below) || isAbove(below, path) || below === '.' ? null : below.replaceAll(path.sep, '/');
  }
  const base = from !== null && path.isAbsolute(from) ? from : root;
  // Resolve links before normalising: `..` after a link refers to the parent of its target.
  const whole = path.resolve(realPath(path.isAbsolute(named) ? named : `${base}${path.sep}${named}`));
  const relative = path.relative(path.resolve(root), whole);
  if (relative === '' || isAbove(relative, path) || path.isAbsolute(relative)) return null;
  return relative.replaceAll(path.sep, '/');
}

const isAbove = (relative: string, { sep }: { readonly sep: string }): boolean =>
  relative === '..' || relative.startsWith(`..${sep}`);

const isWindows = (path: string): boolean => /^[A-Za-z]:[\\/]|^\\\\/.test(path);

/** The agent may run on another machine, so the form of its folder decides which path rules apply. */
const pathsOf = (folder: string) => (isWindows(folder) ? win32 : posix);

/** Strips the prefixes of `file:///srv/a.ts` and `\\?\C:\srv\a.ts`. */
function plainPath(path: string): string {
  if (path.startsWith('\\\\?\\') && isWindows(path.slice(4))) return path.slice(4);
  if (!/^file:\/\//i.test(path)) return path;
  try {
    return fileURLToPath(path, { windows: /^file:\/\/\/[A-Za-z]:/i.test(path) });
  } catch {
    return path;
  }
}

/** Converts `/c/code/a.ts` (Git for Windows, Cygwin) to `C:/code/a.ts`. */
const fromShellPath = (path: string): string => {
  const [, drive, rest = ''] = /^(?:\/cygdrive)?\/([A-Za-z])(\/.*)?$/.exec(path) ?? [];
  return drive === undefined ? path : `${drive}:${rest === '' ? '/' : rest}`;
};

/** Normalises a folder for comparison: no `.`, `..` or trailing slash, and an upper-case drive letter. */
function normalFolder(folder: string): string {
  const plain = plainPath(folder);
  const path = pathsOf(plain);
  const normal = path.normalize(plain);
  const short = normal.length > path.parse(normal).root.length ? normal.replace(/[\\/]+$/, '') : normal;
  return path === win32 ? short.replace(/^[a-z]:/, (drive) => drive.toUpperCase()) : short;
}

/** True for absolute POSIX and Windows paths. */
export const isAbsoluteFolder = (folder: string): boolean => {
  const plain = plainPath(folder);
  return isWindows(plain) || posix.isAbsolute(plain);
};

/** True if both names mean the same folder. Windows names are compared without case. */
export function isSameFolder(one: string, other: string, realPath: RealPath): boolean {
  if (one === other) return true;
  const [a, b] = [normalFolder(one), normalFolder(other)];
  const same = (left: string, right: string) =>
    left === right || (isWindows(left) && left.toLowerCase() === right.toLowerCase());
  return same(a, b) || same(realPath(a), realPath(b));
}
