/** Reads a file of a work tree, which is the agent's: without waiting, by no symlink, and no longer than the check may run. */
import type { Hash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Interruption } from '../interruption.ts';

const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Adds the contents to a hash. `begin` gets the size in bytes, and gives the hash, or null where that settles it.
 * @returns that hash; null: it is no file, it cannot be read, it is being written, or `stop` came first
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
