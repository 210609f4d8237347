/**
 * Decides how much of the disk the embedded server may use: never all of it. After a failed write a nats-server stores
 * nothing more until it is restarted (2.9 does not even reply). At its own limit it just refuses entries.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type StoreSpace = {
  /** Called before a start. Returns the limit for all streams in bytes: their current size plus the room left. */
  allocate(): Promise<number>;
  /** Whether so little disk is free, because something else fills it, that the limit must be lowered. */
  isShort(): Promise<boolean>;
  /** Whether the limit is nearly reached and can be raised. */
  hasMore(): Promise<boolean>;
  /** Removes the ballast file. */
  close(): Promise<void>;
};

const mebibyte = 1_024 * 1_024;
/** Disk space to leave free, so that the server reaches its limit before the disk is full. */
const reserveBytesMax = 512 * mebibyte;
const reserveShare = 0.1;
/** Size of a file that a start on a full disk removes, because the server needs some KB for its own files. */
const ballastBytesMax = 4 * mebibyte;
/** With less room, the server would soon be full again. */
const roomBytesMin = 8 * mebibyte;

/** The reserve is a tenth of the free space plus the store's size, at most 512 MiB. */
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
  let limit = 0;
  return {
    async allocate() {
      room = await roomBytes();
      if (room < roomBytesMin) {
        room = 0;
        if ((await freeBytes()) < ballastBytes) await rm(ballastFile, { force: true });
      } else await writeBallast(ballastFile, ballastBytes);
      limit = Math.floor((await bytesIn(streamsDir)) + room);
      return limit;
    },
    isShort: async () => room > 0 && (await freeBytes()) < reserve / 2,
    async hasMore() {
      const left = limit - (await bytesIn(streamsDir));
      return left < roomBytesMin && (await roomBytes()) >= Math.max(0, left) + roomBytesMin;
    },
    close: () => rm(ballastFile, { force: true }),
  };
}

/** Writes as much as fits. The bytes are random because some file systems do not store zeros. */
async function writeBallast(file: string, bytes: number): Promise<void> {
  const found = await stat(file).catch(() => null);
  if (found?.size !== bytes) await writeFile(file, randomBytes(bytes), { mode: 0o600 }).catch(() => {});
}

/** Sums file sizes. Ignores files that the server deletes in the meantime. */
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
