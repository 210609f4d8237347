/** Errors of the operating system in words that say what to do next. */

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; choose a place that you may write to, or change its permissions',
  EPERM: 'the system does not permit it',
  EROFS: 'the file system is read-only; choose another place',
  ENOSPC: 'the disk is full; free some space',
  EDQUOT: 'your disk quota is used up; free some space',
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

/** `code`: such as `EACCES`. */
export const describeErrno = (code: string): string => reasons[code] ?? code;

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
