/** A fleet's log: stores entries, delivers them in order for ever, and reads back what stands in it (protocol.md §2). */
import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import { openLogRange, readNewest } from './log-range.ts';
import { type LogMessage, openLogReader } from './log-reader.ts';
import { inspectLog, type LogStreamOptions, lastDeadSeq, openLogStreams } from './log-streams.ts';
import { type EntryHeaders, type Stored, type Submit, submitterOf, toHeaders } from './log-submitter.ts';

export type EventLog = {
  /** The last refused entry that has its dead letter. */
  readonly deadSeq: number;
  /** Stores one entry. @throws AppError log.unavailable, log.lost: not stored, or not known to be */
  append(subject: string, payload: string, headers: EntryHeaders): Promise<Stored>;
  /** Sends an entry. `onAnswer` gets a refusal, or where it stands. That `read` delivers it is the proof. */
  readonly submit: Submit;
  /** Sends an entry without asking for an answer. */
  send(subject: string, payload: string, headers: EntryHeaders): void;
  read(onMessage: (message: LogMessage) => void, onLost: (error: AppError) => void): { close(): void };
  /** What the log holds now: `firstSeq` 1, unless a retention has cut it. @throws AppError log.lost, log.unavailable */
  range(): Promise<LogBounds>;
  /** Reads what stands from `fromSeq` to `toSeq`, of one subject (wildcards allowed) or of all. Awaits promises. */
  history(of: HistoryRange, onMessage: (message: LogMessage) => void | Promise<void>): Promise<void>;
  /** The newest `count` messages of a subject below `before` (null: below the end), oldest first. */
  newest(subject: string, count: number, before: number | null): Promise<LogMessage[]>;
  /** The payload that stands at `seq`, or null. */
  fetch(seq: number): Promise<string | null>;
  /** The subject of what stands at `seq`; null: nothing, or it cannot be read now. */
  subjectAt(seq: number): Promise<string | null>;
  /** The newest sequence number. @throws AppError log.lost, log.unavailable */
  lastSeq(): Promise<number>;
};

export type LogBounds = {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly firstMs: number;
  readonly lastMs: number;
};
export type HistoryRange = { readonly fromSeq: number; readonly toSeq: number; readonly subject?: string };

export type EventLogOptions = LogStreamOptions & { readonly nc: NatsConnection };

/** @throws AppError log.lost, stream.foreign, log.unavailable */
export async function openEventLog(options: EventLogOptions): Promise<EventLog> {
  const { nc, fleet } = options;
  const manager = await openManager(nc);
  const info = await openLogStreams(manager, options);
  const stream = info.config.name;
  const inspect = () => inspectLog(manager, stream, info.created);
  return {
    deadSeq: await lastDeadSeq(manager, fleet),
    ...createWriter(options, inspect),
    read: (onMessage, onLost) => {
      const beforeReset = async () => {
        const found = await inspect();
        if (!(found instanceof AppError)) return 'go';
        if (found.code === 'log.lost') onLost(found);
        return 'retry';
      };
      return openLogReader(nc, { stream, fromSeq: 1, onMessage, beforeReset });
    },
    async range() {
      const { state } = orThrow(await inspect());
      const [firstMs, lastMs] = [Date.parse(state.first_ts), Date.parse(state.last_ts)];
      return { firstSeq: state.first_seq, lastSeq: state.last_seq, firstMs, lastMs };
    },
    history: (of, onMessage) => readHistory(nc, stream, of, onMessage),
    newest: (subject, count, before) => readNewest(nc, stream, subject, count, before ?? undefined),
    async fetch(seq) {
      const message = await manager.streams.getMessage(stream, { seq }).catch(() => null);
      return message === null ? null : message.string();
    },
    async subjectAt(seq) {
      return (await manager.streams.getMessage(stream, { seq }).catch(() => null))?.subject ?? null;
    },
    lastSeq: async () => orThrow(await inspect()).state.last_seq,
  };
}

async function openManager(nc: NatsConnection): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(nc, { timeout: 2_000 });
  } catch (cause) {
    const message =
      'JetStream does not answer on this NATS server; start it with "nats-server -js", and check the account';
    throw new AppError('log.unavailable', `${message}: ${(cause as Error).message}`, { cause });
  }
}

function orThrow(found: StreamInfo | AppError): StreamInfo {
  if (found instanceof AppError) throw found;
  return found;
}

function createWriter(
  { nc, log }: EventLogOptions,
  inspect: () => Promise<StreamInfo | AppError>,
): Pick<EventLog, 'append' | 'submit' | 'send'> {
  const findLoss = async () => {
    const found = await inspect();
    return found instanceof AppError ? found : null;
  };
  const submitOnce = submitterOf(nc);
  const submit: Submit = (subject, payload, given, onAnswer) => submitOnce(subject, payload, given, onAnswer, findLoss);
  return {
    submit,
    append: (subject, payload, given) =>
      new Promise((resolve, reject) => {
        submit(subject, payload, given, (answer) => (answer instanceof AppError ? reject(answer) : resolve(answer)));
      }),
    send(subject, payload, given) {
      try {
        nc.publish(subject, payload, { headers: toHeaders(given) });
      } catch (cause) {
        // The connection is closing, or the payload is more than the server takes; this must not end the process.
        log.warn({ err: cause, subject }, 'entry not sent');
      }
    },
  };
}

/** Reads what stands in a range. Awaits promises that `onMessage` returns. */
export async function readHistory(
  nc: NatsConnection,
  stream: string,
  { fromSeq, toSeq, subject }: HistoryRange,
  onMessage: (message: LogMessage) => void | Promise<void>,
): Promise<void> {
  const { batches } = await openLogRange(nc, stream, { fromSeq, ...(subject === undefined ? {} : { subject }) });
  for await (const batch of batches) {
    for (const message of batch) {
      if (message.seq > toSeq) return;
      const pause = onMessage(message);
      if (pause !== undefined) await pause;
    }
    if ((batch.at(-1)?.seq ?? 0) >= toSeq) return;
  }
}
