/** The files that a tool call changed, as policies name them. */
import { posix, win32 } from 'node:path';
import { pathLengthMax } from '../../../machines/values/limits.ts';

// As the agent names it: inside the root it is shorter.
const pathCharsMax = 4_096;
const filesMax = 100;
/** For all files of a call. The rest of an entry of 64 KiB is left to its envelope. */
const filesBytesMax = 48 * 1024;

/**
 * A file inside `root` becomes relative to it, with forward slashes, so that a policy's `src/**` means the worker's own
 * folder wherever that is. Any other file stays as the agent named it. Empty: no file that we know of (a shell command
 * may have changed some unseen).
 */
export function toolFiles(named: readonly unknown[], root: string | null): string[] {
  const files = named.filter(
    (file): file is string => typeof file === 'string' && file !== '' && file.length <= pathCharsMax,
  );
  const within = [...new Set(files)].slice(0, filesMax).map((file) => (root === null ? file : withinRoot(file, root)));
  let bytes = 0;
  return within.filter((file) => {
    if (file.length > pathLengthMax) return false;
    bytes += Buffer.byteLength(JSON.stringify(file)) + 1;
    return bytes <= filesBytesMax;
  });
}

/** The agent may run on another machine, so the form of the root decides which path rules apply. */
function withinRoot(file: string, root: string): string {
  const path = /^[A-Za-z]:[\\/]|^\\\\/.test(root) ? win32 : posix;
  if (!path.isAbsolute(root) || !path.isAbsolute(file)) return file;
  const relative = path.relative(root, file);
  const outside =
    relative === '' || relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
  return outside ? file : relative.replaceAll(path.sep, '/');
}
