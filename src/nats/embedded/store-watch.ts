/**
 * Watches the store of the embedded server, and restarts the server if nothing else helps: to lower its limit before
 * something else has filled the disk, to raise it when there is space again, and after a failed write. After a failed
 * write nats-server accepts connections as before, but 2.9 no longer answers anything about a stream, and newer
 * versions store nothing in it.
 */
import type { Logger } from '../../log.ts';
import { openConnection } from '../connection.ts';
import { privateInbox } from '../permissions.ts';
import type { StoreSpace } from './store-space.ts';

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
