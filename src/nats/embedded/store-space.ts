/**
 * Decides how much of the disk the embedded server may use: never all of it. After a failed write a nats-server stores
 * nothing more until it is restarted (2.9 does not even reply). At its own limit it just refuses entries.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../log.ts';
import { openConnection } from '../connection.ts';
import { privateInboxPrefix } from '../permissions.ts';

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
/** Disk space left free, so that the server reaches its limit before the disk is full. */
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

// Watches the store and restarts the server if necessary: to lower its limit before something else fills the disk, to
// raise it when there is space again, and after a failed write. After a failed write the server still accepts
// connections, but 2.9 no longer replies to stream requests, and newer versions store nothing in the stream.

export type WatchOptions = {
  readonly url: string;
  readonly credsFile: string;
  readonly space: StoreSpace;
  readonly fleet: string;
  readonly log: Logger;
  readonly hasFailedToWrite: () => boolean;
  readonly restart: () => Promise<void>;
};

const everyMs = 500;
/** In polls. If the free space fluctuates, the server restarts at most every 4 s. */
const [requestEvery, growEvery] = [4, 8];
/** Pause after a failed restart. */
const retryMs = 2_000;
/** A large stream on a slow disk takes seconds to reply. */
const timeoutMs = 5_000;
/** After this many failed stream requests in a row the server is restarted. */
const failuresMax = 3;

export function watchStore(options: WatchOptions): { close(): void } {
  const { space, log, restart, hasFailedToWrite } = options;
  let [polls, failures] = [0, 0];
  let isRequesting = false;
  let reason: string | null = null;
  let isClosed = false;
  let timer: NodeJS.Timeout;
  const requestInfo = async () => {
    isRequesting = true;
    const responds = await streamResponds(options).finally(() => {
      isRequesting = false;
    });
    if (responds !== null) failures = responds ? 0 : failures + 1;
  };
  const findReason = async () => {
    if (await space.isShort())
      return 'the disk is nearly full, so entries are refused once the log reaches its present size limit';
    if (hasFailedToWrite()) return 'nats-server could not write to the disk';
    if (failures >= failuresMax) return 'nats-server does not answer about the log';
    return polls % growEvery === 0 && (await space.hasMore()) ? 'the disk has space again, so the log may grow' : null;
  };
  const poll = async () => {
    polls += 1;
    if (polls % requestEvery === 0 && !isRequesting) void requestInfo();
    reason ??= await findReason();
    if (reason === null || isClosed) return;
    log.warn(`${reason}: restarting nats-server`);
    await restart();
    reason = null;
    failures = 0;
  };
  const next = (ms: number) => {
    if (isClosed) return;
    timer = setTimeout(() => {
      poll().then(
        () => next(everyMs),
        (err: unknown) => {
          log.warn({ err }, 'nats-server could not be restarted; retrying');
          next(retryMs);
        },
      );
    }, ms);
    timer.unref();
  };
  next(everyMs);
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Whether the server replies to a stream request. Uses a new connection each time, because a failed 2.9 server stops
 * reading from a connection that sent one.
 * @returns null if there is no connection: the server is starting, stopping or suspended
 */
async function streamResponds({ url, credsFile, fleet }: WatchOptions): Promise<boolean | null> {
  const connection = { url, credsFile, inboxPrefix: privateInboxPrefix, name: 'stopgate watch', patient: false };
  const nc = await openConnection(connection).catch(() => null);
  if (nc === null) return null;
  try {
    const reply = await nc.request(`$JS.API.STREAM.INFO.STOPGATE_${fleet}`, '', { timeout: timeoutMs });
    // "Stream not found" is a healthy reply.
    return reply.json<{ error?: { code: number } }>().error?.code !== unavailable;
  } catch {
    return false;
  } finally {
    await nc.close();
  }
}

/** JetStream is disabled. */
const unavailable = 503;
