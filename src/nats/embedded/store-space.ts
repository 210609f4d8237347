/**
 * Decides how much of the disk the embedded server may use: never all of it. A nats-server whose write fails stores
 * nothing more until it is restarted (2.9 does not even answer), while one at its own limit refuses an entry and
 * continues.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type StoreSpace = {
  /** For a start: what its streams take now, and the room for more. In bytes. */
  allot(): Promise<number>;
  /** Something else takes the disk: so little is free that what was allotted must be taken back. */
  isShort(): Promise<boolean>;
  /** Tells whether the allotted space is nearly used up, and there is more. */
  hasMore(): Promise<boolean>;
  /** Removes what only a running server needs. */
  close(): Promise<void>;
};

const mebibyte = 1_024 * 1_024;
/** Left free, so that it is our server that refuses an entry, and not the disk. */
const reserveBytesMax = 512 * mebibyte;
const reserveShare = 0.1;
/** A start on a full disk needs some KB for its own files. It gets them by removing this file. */
const ballastBytesMax = 4 * mebibyte;
/** With less, a server would soon be full again. */
const roomBytesMin = 8 * mebibyte;

/** The reserve is a tenth of what is free now, with what the store takes; 512 MiB at most. */
export async function openStoreSpace(storeDir: string): Promise<StoreSpace> {
  const streamsDir = join(storeDir, 'jetstream');
  const ballastFile = join(storeDir, 'ballast');
  const freeBytes = async () => {
    const { bavail, bsize } = await statfs(storeDir);
    return bavail * bsize;
  };
  const reserve = Math.min(reserveBytesMax, ((await bytesIn(streamsDir)) + (await freeBytes())) * reserveShare);
  const ballastBytes = Math.floor(Math.min(ballastBytesMax, reserve / 4));
  const roomBytes = async () => Math.max(0, (await freeBytes()) - reserve);
  let room = 0;
  let allotted = 0;
  return {
    async allot() {
      room = await roomBytes();
      if (room < roomBytesMin) {
        room = 0;
        if ((await freeBytes()) < ballastBytes) await rm(ballastFile, { force: true });
      } else await writeBallast(ballastFile, ballastBytes);
      allotted = Math.floor((await bytesIn(streamsDir)) + room);
      return allotted;
    },
    isShort: async () => room > 0 && (await freeBytes()) < reserve / 2,
    async hasMore() {
      const left = allotted - (await bytesIn(streamsDir));
      return left < roomBytesMin && (await roomBytes()) >= Math.max(0, left) + roomBytesMin;
    },
    close: () => rm(ballastFile, { force: true }),
  };
}

/** Fills a file, as far as there is space. Its bytes are random, since some file systems do not store zeros. */
async function writeBallast(file: string, bytes: number): Promise<void> {
  const found = await stat(file).catch(() => null);
  if (found?.size !== bytes) await writeFile(file, randomBytes(bytes), { mode: 0o600 }).catch(() => {});
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
