/**
 * Imports a complete log into a fleet that has none. Entries refer to each other by sequence, so each must keep its
 * own: the server refuses an entry that would get another one. Timestamps are those of the import. Exported lines
 * contain no message ids. Only the ids of decisions are restored, because replicas use them to tell which attempts are
 * decided.
 */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/nats-core';
import { decisionMessageId, isId, readJson, retriedMessageId } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { openLogStreams } from './log-streams.ts';
import { messageBytesMax } from './stream-info.ts';

export type ImportedEntry = {
  readonly seq: number;
  readonly subject: string;
  readonly payload: string | Uint8Array;
};
export type LogImport = {
  /** Appends consecutive entries, the first with sequence 1. @throws AppError log.unavailable if one is not stored */
  append(entries: readonly ImportedEntry[]): Promise<void>;
};

/** Maximum number of unacknowledged entries: 18 MB at most. */
const pendingMax = 256;
const timeoutMs = 10_000;
/** Upper bound for the headers of an imported entry: an expected sequence and a message id. */
const headerBytesMax = 512;

/**
 * Creates the log as a service would.
 * @throws AppError entry.refused if the log has entries; stream.foreign, log.lost
 */
export async function openLogImport(nc: NatsConnection, fleet: string, log: Logger): Promise<LogImport> {
  const manager = await jetstreamManager(nc, { timeout: timeoutMs });
  const { info } = await openLogStreams(manager, {
    nc,
    fleet,
    replicas: null,
    acceptEmptyLog: false,
    hasStart: async () => false,
    log,
  });
  const { last_seq: lastSeq } = info.state;
  if (lastSeq > 0) {
    const hint = 'import into a NATS server where the fleet has none, and start its service only after the import';
    throw new AppError('entry.refused', `fleet '${fleet}' already has a log with ${lastSeq} entries; ${hint}`);
  }
  const js = jetstream(nc, { timeout: timeoutMs });
  const decisionPrefix = `stopgate.${fleet}.decision.`;
  const store = async ({ seq, subject, payload }: ImportedEntry) => {
    const h = headers();
    if (!leavesNoRoom(payload)) {
      h.set('Nats-Expected-Last-Sequence', String(seq - 1));
      const messageId = subject.startsWith(decisionPrefix)
        ? idOfDecision(subject.slice(decisionPrefix.length), payload, seq)
        : null;
      if (messageId !== null) h.set('Nats-Msg-Id', messageId);
    }
    try {
      const { stream, seq: stored } = await js.publish(subject, payload, { headers: h });
      // Anyone who subscribes to the subject can reply.
      if (stream !== info.config.name || stored !== seq)
        throw new Error(`entry ${stored} of the stream ${stream} was acknowledged`);
    } catch (cause) {
      const why = `entry ${seq} was not stored: ${(cause as Error).message}`;
      throw new AppError('log.unavailable', `${why}; delete the streams of fleet '${fleet}' before you try again`, {
        cause,
      });
    }
  };
  return {
    async append(entries) {
      for (const batch of batchesOf(entries)) await Promise.all(batch.map(store));
    },
  };
}

/** Groups entries that may be in flight at the same time. */
function* batchesOf(entries: readonly ImportedEntry[]): Generator<ImportedEntry[]> {
  let batch: ImportedEntry[] = [];
  for (const entry of entries) {
    const isAlone = leavesNoRoom(entry.payload);
    if (isAlone || batch.length === pendingMax) {
      yield batch;
      batch = [];
    }
    if (isAlone) yield [entry];
    else batch.push(entry);
  }
  yield batch;
}

/**
 * Headers count towards `max_msg_size`, and the original message may have had none. Such an entry is sent alone,
 * without headers, and its sequence is checked afterwards.
 */
const leavesNoRoom = (payload: string | Uint8Array): boolean =>
  Buffer.byteLength(payload) > messageBytesMax - headerBytesMax;

/**
 * Returns the message id of a decision, or null if the entry is not one. The id contains the sequence, because a worker
 * that was forgotten may have reused an attempt id, and the server would drop the second decision as a duplicate.
 */
function idOfDecision(worker: string, payload: string | Uint8Array, seq: number): string | null {
  const read = readJson(typeof payload === 'string' ? payload : new TextDecoder().decode(payload));
  const { attempt } = (read.ok ? (read.value as { attempt?: unknown } | null) : null) ?? {};
  if (typeof attempt !== 'string' || !isId(attempt) || !isId(worker)) return null;
  return retriedMessageId(decisionMessageId(worker, attempt), String(seq));
}
