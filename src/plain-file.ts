/**
 * Reads files that others may have created. An archive or another user can put a pipe in their place, and a checkout a
 * link to a device. Reading those might never end, and would block an agent's hook.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Larger than any file that we read. Hooks read them at each call. */
const bytesMax = 8 * 1_048_576;

/** @throws Error of the file system, or if it is not a regular file or is too large */
export function readPlainFile(path: string): string {
  // Without O_NONBLOCK, opening a pipe waits for a writer.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    const isFolder = stats.isDirectory(); // readFileSync throws the usual error
    if (!isFolder && !stats.isFile()) throw new Error('it is a pipe or a device, not a file');
    if (stats.size > bytesMax) throw new Error(`it is larger than ${bytesMax} bytes`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}
