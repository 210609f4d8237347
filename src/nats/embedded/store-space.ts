/**
 * Decides how much of the disk the embedded server may use: never all of it. A nats-server whose write fails stores
 * nothing more until it is restarted (2.9 does not even answer), while one at its own limit refuses an entry and
 * continues.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../log.ts';
import { openConnection } from '../connection.ts';
import { privateInbox } from '../permissions.ts';

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

// Watches the store of the embedded server, and restarts the server if nothing else helps: to lower its limit before
// something else has filled the disk, to raise it when there is space again, and after a failed write. After a failed
// write nats-server accepts connections as before, but 2.9 no longer answers anything about a stream, and newer
// versions store nothing in it.

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
/** In polls. A disk whose free space varies restarts the server every 4 s at most. */
const [askEvery, growEvery] = [4, 8];
/** After a start that failed. */
const retryMs = 2_000;
/** A large stream on a slow disk takes seconds to answer. */
const timeoutMs = 5_000;
/** This many requests about the stream may fail in a row. */
const failuresMax = 3;

export function watchStore(options: WatchOptions): { close(): void } {
  const { space, log, restart, hasFailedToWrite } = options;
  let [polls, failures] = [0, 0];
  let isAsking = false;
  let why: string | null = null;
  let isClosed = false;
  let timer: NodeJS.Timeout;
  const ask = async () => {
    isAsking = true;
    const answers = await streamAnswers(options).finally(() => {
      isAsking = false;
    });
    if (answers !== null) failures = answers ? 0 : failures + 1;
  };
  const findReason = async () => {
    if (await space.isShort()) return 'the disk is nearly full, so nothing more is stored until it has space again';
    if (hasFailedToWrite() || failures >= failuresMax) return 'JetStream stores nothing more';
    return polls % growEvery === 0 && (await space.hasMore()) ? 'the disk has more space than the log may take' : null;
  };
  const poll = async () => {
    polls += 1;
    if (polls % askEvery === 0 && !isAsking) void ask();
    why ??= await findReason();
    if (why === null || isClosed) return;
    log.warn(`${why}: starting nats-server again`);
    await restart();
    why = null;
    failures = 0;
  };
  const next = (ms: number) => {
    if (isClosed) return;
    timer = setTimeout(() => {
      poll().then(
        () => next(everyMs),
        (err: unknown) => {
          log.warn({ err }, 'nats-server could not be started again; trying again');
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
 * On a connection of its own each time, since a server in that state reads no further from one that asked.
 * @returns null: there is no connection, so the server is on its way up or down, or stopped by someone
 */
async function streamAnswers({ url, credsFile, fleet }: WatchOptions): Promise<boolean | null> {
  const connection = { url, credsFile, inboxPrefix: privateInbox, name: 'stopgate watch', patient: false };
  const nc = await openConnection(connection).catch(() => null);
  if (nc === null) return null;
  try {
    const reply = await nc.request(`$JS.API.STREAM.INFO.STOPGATE_${fleet}`, '', { timeout: timeoutMs });
    // That there is no such stream (yet) is an answer as well.
    return reply.json<{ error?: { code: number } }>().error?.code !== unavailable;
  } catch {
    return false;
  } finally {
    await nc.close();
  }
}

/** JetStream is switched off. */
const unavailable = 503;
