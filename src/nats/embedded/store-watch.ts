/**
 * Watches the store and restarts the server if necessary: to lower its limit before something else fills the disk, to
 * raise it when there is space again, and after a failed write. After a failed write the server still accepts
 * connections, but 2.9 no longer replies to stream requests, and newer versions store nothing in the stream.
 */
import type { Logger } from '../../log.ts';
import { openConnection } from '../connection.ts';
import { privateInboxPrefix } from '../permissions.ts';
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
/** In polls. */
const requestEvery = 4;
/** In polls. If the free space fluctuates, the server restarts at most every 4 s. */
const growEvery = 8;
/** Pause after a failed restart. */
const retryMs = 2_000;
/** A large stream on a slow disk takes seconds to reply. */
const timeoutMs = 5_000;
/** After this many failed stream requests in a row the server is restarted. */
const failuresMax = 3;

export function watchStore(options: WatchOptions): { close(): void } {
  const { space, log, restart, hasFailedToWrite } = options;
  let polls = 0;
  let failures = 0;
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
 * Tells whether the server replies to a stream request. Uses a new connection each time, because a failed 2.9 server
 * stops reading from a connection that sent one.
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
