/**
 * Hashes files of a work tree. They are untrusted, so files are opened without blocking or following symlinks, and
 * reading stops with the check's timeout.
 */
import type { Hash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Interruption } from '../../timer.ts';

const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Adds a file's contents to a hash.
 * @param begin receives the size in bytes and returns the hash to update, or null to skip the file
 * @returns that hash, or null if the file was skipped, cannot be read, is not a regular file, or `stop` came first
 */
export async function hashContents(
  path: string,
  stop: Interruption,
  begin: (size: number) => Hash | null,
): Promise<Hash | null> {
  const file = await open(path, flags).catch(() => null);
  if (file === null) return null;
  try {
    const found = await file.stat();
    const hash = found.isFile() ? begin(found.size) : null;
    if (hash === null) return null;
    for await (const chunk of createReadStream('', { fd: file, autoClose: false })) {
      if (stop.cause !== null) return null;
      hash.update(chunk);
    }
    return hash;
  } catch {
    return null;
  } finally {
    await file.close();
  }
}
