/**
 * Imports a complete log into a fleet that has none. Entries refer to others by number, so each must keep its number:
 * the server refuses an entry that would get another one. Its time is that of the import. Of the message ids, which lines
 * do not have, only those of decisions are needed again: by them a replica knows which attempts have their decision entry.
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
  /** The entries follow each other from 1 on. @throws AppError log.unavailable: not stored */
  append(entries: readonly ImportedEntry[]): Promise<void>;
};

/** This many entries are sent without an acknowledgement: 18 MB at most. */
const pendingMax = 256;
const timeoutMs = 10_000;
/** The headers of an entry that an import sends: an expected number, and an id of two ids and a number. */
const headerBytesMax = 512;

/** Creates the log as a service would. @throws AppError entry.refused: there is one with entries; stream.foreign, log.lost */
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
    const hint =
      'import into a NATS server where it has none yet, and start its service only when the import has ended';
    throw new AppError('entry.refused', `fleet '${fleet}' has a log already, of ${lastSeq} entries; ${hint}`);
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
      // Anybody who listens to the subject can answer.
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

/** Groups entries that may be on their way at the same time. */
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
 * Headers count towards the largest message, and its first publisher may have had none. Such an entry is sent by itself,
 * so that it still gets its number, and is only checked afterwards.
 */
const leavesNoRoom = (payload: string | Uint8Array): boolean =>
  Buffer.byteLength(payload) > messageBytesMax - headerBytesMax;

/**
 * With its number, because a worker that was forgotten may have decided two attempts of one name, and the server would
 * take the second for a repeat. Null: it is no decision.
 */
function idOfDecision(worker: string, payload: string | Uint8Array, seq: number): string | null {
  const read = readJson(typeof payload === 'string' ? payload : new TextDecoder().decode(payload));
  const { attempt } = (read.ok ? (read.value as { attempt?: unknown } | null) : null) ?? {};
  if (typeof attempt !== 'string' || !isId(attempt) || !isId(worker)) return null;
  return retriedMessageId(decisionMessageId(worker, attempt), String(seq));
}
