/** Errors of the operating system as messages that say what to do next. */
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; change its permissions, or choose another place',
  EPERM: 'the system does not permit it',
  EROFS: 'the file system is read-only; choose another place',
  ENOSPC: 'the disk is full; free some space',
  EDQUOT: 'your disk quota is used up; free some space',
  EFBIG: 'the file would be too large; raise the limit (ulimit -f)',
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is a file',
  EISDIR: 'it is a folder',
  EEXIST: 'it exists already, and is not what it must be',
  ENAMETOOLONG: 'the path is too long',
  EMFILE: 'this process has too many open files; raise the limit (ulimit -n)',
  ENFILE: 'the system has too many open files',
  EADDRINUSE: 'the address is taken by another process; choose another port',
  EADDRNOTAVAIL: 'this machine has no such address',
  EAGAIN: 'the system has no resources left for another process',
};

/** Says why the system refused; of any other error, its message. */
export function describeSystemError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return reasons[codeOf(error as NodeJS.ErrnoException) ?? code] ?? message;
}

/** Node says ENOENT where it is to make a folder with its parents and the file system is read-only. */
function codeOf({ syscall, code, path }: NodeJS.ErrnoException): string | undefined {
  if (syscall !== 'mkdir' || code !== 'ENOENT' || path === undefined) return code;
  let parent = dirname(path);
  while (!existsSync(parent) && dirname(parent) !== parent) parent = dirname(parent);
  try {
    accessSync(parent, constants.W_OK);
    return code;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

const verbs: Readonly<Record<string, string>> = {
  mkdir: 'create the folder',
  open: 'open',
  scandir: 'list',
  unlink: 'remove',
  rm: 'remove',
  listen: 'listen on',
};

/** `syscall`: such as `mkdir`; of a program that was started, `spawn` and its name. */
export const syscallVerb = (syscall: string): string => verbs[syscall] ?? syscall;
