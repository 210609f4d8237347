/**
 * Reads the files of a folder that others may have made: an archive or another user can put a pipe in their place, and a
 * checkout a link to a device. Neither has an end that comes, and whoever waits for it is an agent's hook.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** More than any file that we read has; it is read at each call of a hook. */
const bytesMax = 8 * 1_048_576;

/**
 * Gives its text.
 * @throws Error of the file system, or because it is no regular file or is too large
 */
export function readPlainFile(path: string): string {
  // Without O_NONBLOCK the open of a pipe waits for somebody who writes to it.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    const isFolder = stats.isDirectory(); // which has the usual error
    if (!isFolder && !stats.isFile()) throw new Error('it is a pipe or a device, and no file');
    if (stats.size > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}
