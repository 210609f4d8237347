/** How much of the disk the embedded server may take. */
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** Left free, so that it is our server that refuses an entry, and not the disk: the server stops working on that. */
const reserveBytes = 512 * 1_024 * 1_024;
const reserveShare = 0.1;

/** What its streams take now, and the room for more. */
export async function storeBytesMax(storeDir: string): Promise<number> {
  return Math.floor((await bytesIn(join(storeDir, 'jetstream'))) + (await roomBytes(storeDir)));
}

/** What is free, but for the reserve. */
export async function roomBytes(storeDir: string): Promise<number> {
  const [used, { bavail, bsize }] = [await bytesIn(join(storeDir, 'jetstream')), await statfs(storeDir)];
  const free = bavail * bsize;
  return Math.max(0, free - Math.min(reserveBytes, (used + free) * reserveShare));
}

/** The server may delete files meanwhile. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const sizes = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return bytesIn(path);
    return stat(path).then(
      ({ size }) => size,
      () => 0,
    );
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
