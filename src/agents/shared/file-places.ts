/**
 * The files that a tool call changed, as policies name them: relative to the worker's folder, with forward slashes, so
 * that `src/**` of a policy means the worker's own folder wherever that is.
 */
import { posix, win32 } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pathLengthMax } from '../../../machines/values/limits.ts';

/** Resolves the links of an absolute path. Returns the path itself where it cannot be resolved, as on another machine. */
export type RealPath = (path: string) => string;
export const asNamed: RealPath = (path) => path;

/** As the agent names it: inside the root it is shorter. */
const pathCharsMax = 4_096;
const filesMax = 100;
/** For all files of a call. The rest of an entry of 64 KiB is left to its envelope. */
const filesBytesMax = 48 * 1024;

/**
 * `placed`: those of the files that lie within the root. `areAllPlaced`: false if some named file lies outside the root, or
 * nobody can tell where it lies, or it is left out.
 */
export type PlacedFiles = {
  readonly files: readonly string[];
  readonly placed: readonly string[];
  readonly areAllPlaced: boolean;
};

/**
 * `root`: the worker's folder. `from`: the folder to which relative names belong. A file outside of the root, or one whose
 * place is unknown, stays as the agent named it.
 */
export function placeFiles(
  named: readonly unknown[],
  { root, from, realPath }: { readonly root: string | null; readonly from: string | null; readonly realPath: RealPath },
): PlacedFiles {
  const texts = named.filter((file): file is string => typeof file === 'string' && file !== '');
  const distinct = [...new Set(texts)];
  const kept = distinct.filter((file) => file.length <= pathCharsMax).slice(0, filesMax);
  let areAllPlaced = texts.length === named.length && kept.length === distinct.length;
  const realRoot = root === null || kept.length === 0 ? root : realPath(normalFolder(root));
  const files: string[] = [];
  const placed: string[] = [];
  let bytes = 0;
  for (const file of kept) {
    const within = place(file, realRoot, from, realPath);
    areAllPlaced &&= within !== null;
    const shown = within ?? file;
    bytes += Buffer.byteLength(JSON.stringify(shown)) + 1;
    if (shown.length > pathLengthMax || bytes > filesBytesMax) areAllPlaced = false;
    else if (!files.includes(shown)) {
      files.push(shown);
      if (within !== null) placed.push(shown);
    }
  }
  return { files, placed, areAllPlaced };
}

/**
 * The names of the same files by two folders. Null: they are too many for an entry.
 * @param first come first, so that the last file is named by the folder in which the worker is
 */
export function joinNames(first: readonly string[], second: readonly string[]): readonly string[] | null {
  const names = [...new Set([...first, ...second])];
  return Buffer.byteLength(JSON.stringify(names)) > filesBytesMax ? null : names;
}

/** Null: not inside the root, or nobody can tell. */
function place(file: string, root: string | null, from: string | null, realPath: RealPath): string | null {
  const path = pathsOf(root ?? from ?? '/');
  const named = path === win32 ? fromShellPath(plainPath(file)) : plainPath(file);
  // A tilde means a home that we do not know, and a drive has no place in a root without drives.
  if (named.startsWith('~') || (path === posix && isWindows(named))) return null;
  if (root === null || !path.isAbsolute(root)) {
    // Without a root only a name that stays below wherever it begins can be used.
    const below = path.normalize(named);
    return path.isAbsolute(below) || isAbove(below, path) || below === '.' ? null : below.replaceAll(path.sep, '/');
  }
  const base = from !== null && path.isAbsolute(from) ? from : root;
  // Not normalised before its links are resolved: what is above a link's target is not what is above the link.
  const whole = path.resolve(realPath(path.isAbsolute(named) ? named : `${base}${path.sep}${named}`));
  const relative = path.relative(path.resolve(root), whole);
  if (relative === '' || isAbove(relative, path) || path.isAbsolute(relative)) return null;
  return relative.replaceAll(path.sep, '/');
}

const isAbove = (relative: string, { sep }: { readonly sep: string }): boolean =>
  relative === '..' || relative.startsWith(`..${sep}`);

const isWindows = (path: string): boolean => /^[A-Za-z]:[\\/]|^\\\\/.test(path);

/** The agent may run on another machine, so the form of the folder decides which rules of paths apply. */
const pathsOf = (folder: string) => (isWindows(folder) ? win32 : posix);

/** `file:///srv/a.ts`, `\\?\C:\srv\a.ts`. */
function plainPath(path: string): string {
  if (path.startsWith('\\\\?\\') && isWindows(path.slice(4))) return path.slice(4);
  if (!/^file:\/\//i.test(path)) return path;
  try {
    return fileURLToPath(path, { windows: /^file:\/\/\/[A-Za-z]:/i.test(path) });
  } catch {
    return path;
  }
}

/** `/c/work/a.ts`, as the shells of Git for Windows and of Cygwin name `C:\work\a.ts`. */
const fromShellPath = (path: string): string => {
  const [, drive, rest = ''] = /^(?:\/cygdrive)?\/([A-Za-z])(\/.*)?$/.exec(path) ?? [];
  return drive === undefined ? path : `${drive}:${rest === '' ? '/' : rest}`;
};

/** A folder as two names of it are compared: without `.`, `..` and the slash at its end, and with a drive in one case. */
function normalFolder(folder: string): string {
  const plain = plainPath(folder);
  const path = pathsOf(plain);
  const normal = path.normalize(plain);
  const short = normal.length > path.parse(normal).root.length ? normal.replace(/[\\/]+$/, '') : normal;
  return path === win32 ? short.replace(/^[a-z]:/, (drive) => drive.toUpperCase()) : short;
}

/** Does the name say by itself where the folder is? */
export const isAbsoluteFolder = (folder: string): boolean => {
  const plain = plainPath(folder);
  return isWindows(plain) || posix.isAbsolute(plain);
};

/** Are these two names of one folder? Names that differ only in their case are one folder on Windows. */
export function isSameFolder(one: string, other: string, realPath: RealPath): boolean {
  if (one === other) return true;
  const [a, b] = [normalFolder(one), normalFolder(other)];
  const same = (left: string, right: string) =>
    left === right || (isWindows(left) && left.toLowerCase() === right.toLowerCase());
  return same(a, b) || same(realPath(a), realPath(b));
}
