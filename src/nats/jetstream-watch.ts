/**
 * Watches JetStream of the embedded server. After a write that failed nats-server takes connections as before, but 2.9
 * answers nothing about a stream any more, and newer ones store nothing in it, also when there is space again: only
 * another start helps.
 */
import type { Logger } from '../log.ts';
import { openConnection } from './connection.ts';
import { privateInbox } from './permissions.ts';
import { roomBytes } from './store-space.ts';

export type WatchOptions = {
  readonly url: string;
  readonly credsFile: string;
  readonly storeDir: string;
  readonly fleet: string;
  readonly log: Logger;
  readonly hasFailedToWrite: () => boolean;
  readonly restart: () => Promise<void>;
};

const everyMs = 2_000;
/** A large stream on a slow disk takes seconds to answer. */
const timeoutMs = 5_000;
/** In a row. */
const failuresMax = 3;
/** With less it would soon be full again. */
const roomBytesMin = 8 * 1_024 * 1_024;

export function watchJetStream(options: WatchOptions): { close(): void } {
  const { log } = options;
  const state = { failures: 0, isFull: false, isClosed: false };
  let timer: NodeJS.Timeout;
  const next = () => {
    if (state.isClosed) return;
    timer = setTimeout(() => {
      look(options, state)
        .catch((err: unknown) => log.warn({ err }, 'nats-server could not be started again; trying again'))
        .finally(next);
    }, everyMs);
    timer.unref();
  };
  next();
  return {
    close() {
      state.isClosed = true;
      clearTimeout(timer);
    },
  };
}

type State = { failures: number; isFull: boolean; isClosed: boolean };

async function look(options: WatchOptions, state: State): Promise<void> {
  const { storeDir, log, hasFailedToWrite, restart } = options;
  if (hasFailedToWrite()) state.failures = failuresMax;
  // A start that failed is tried again, though then nothing takes connections.
  if (state.failures < failuresMax) {
    const answers = await streamAnswers(options);
    if (answers !== null) state.failures = answers ? 0 : state.failures + 1;
  }
  if (state.failures < failuresMax || state.isClosed) return;
  if ((await roomBytes(storeDir)) < roomBytesMin) {
    if (!state.isFull) log.error({ storeDir }, 'the disk is full: nothing is stored until it has space again');
    state.isFull = true;
    return;
  }
  if (state.isClosed) return;
  log.error({ storeDir }, 'JetStream works no more: starting nats-server again');
  await restart();
  state.failures = 0;
  state.isFull = false;
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
