/** How much of the disk the embedded server may take. */
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** Left free, so that it is our server that refuses an entry, and not the disk: the server stops working on that. */
const reserveBytes = 512 * 1_024 * 1_024;
const reserveShare = 0.1;

/** What its streams have now, and what is free but for a reserve. */
export async function storeBytesMax(storeDir: string): Promise<number> {
  const [used, free] = [await bytesIn(join(storeDir, 'jetstream')), await freeBytes(storeDir)];
  const reserve = Math.min(reserveBytes, (used + free) * reserveShare);
  return Math.floor(used + Math.max(0, free - reserve));
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
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
