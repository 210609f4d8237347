/** Describes errors of the operating system, and says what to do next. */
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; change the permissions, or choose another location',
  EPERM: 'the operating system does not permit it',
  EROFS: 'the file system is read-only; choose another location',
  ENOSPC: 'the disk is full; free some space',
  EDQUOT: 'your disk quota is used up; free some space',
  EFBIG: 'the file would be too large; raise the limit (ulimit -f)',
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is a file',
  EISDIR: 'it is a folder',
  EEXIST: 'it already exists and has another type; remove it, or choose another location',
  ENAMETOOLONG: 'the path is too long',
  EMFILE: 'this process has too many open files; raise the limit (ulimit -n)',
  ENFILE: 'the system has too many open files',
  EADDRINUSE: 'another process uses the address; choose another port',
  EADDRNOTAVAIL: 'this machine has no such address',
  EAGAIN: 'the system has no resources left for another process',
};

/** Says why the system refused. Returns the message of any other error. */
export function describeSystemError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return reasons[codeOf(error as NodeJS.ErrnoException) ?? code] ?? message;
}

/** Node reports ENOENT when it should create a folder with its parents on a read-only file system. */
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

/** @param syscall such as `mkdir`; if a program could not be started, `spawn` and its name */
export const syscallVerb = (syscall: string): string => verbs[syscall] ?? syscall;
