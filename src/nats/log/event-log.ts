/**
 * A fleet's log: stores entries, delivers them in order without end, and reads stored entries back (protocol.md §2).
 */
import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { type NatsConnection, TimeoutError } from '@nats-io/nats-core';
import { AppError } from '../../errors.ts';
import { warnOfAccountLimit } from '../accounts.ts';
import { refuseUntestedCluster } from '../cluster-version.ts';
import {
  confirmLoss,
  explainGap,
  type FindCoveredTo,
  inspectLog,
  type LogIdentity,
  noteFolded,
  proveLog,
} from './log-continuity.ts';
import { type HistoryRange, readHistory, readNewest } from './log-range.ts';
import { type LogMessage, type LogPosition, type LogReader, openLogReader } from './log-reader.ts';
import { type LogStreamOptions, lastDeadSeq, type OpenedLog, openLogStreams } from './log-streams.ts';
import { type EntryHeaders, type Stored, type Submit, submitterOf, toHeaders } from './log-submitter.ts';

export type EventLog = {
  /** The last refused entry that has its dead letter. */
  readonly deadSeq: number;
  /** Tells whether a later start can recognise the log: false before its first `note`. */
  readonly isNoted: boolean;
  /** Stores one entry. @throws AppError log.unavailable, log.lost: not stored, or not known to be */
  append(subject: string, payload: string, headers: EntryHeaders): Promise<Stored>;
  /** Sends an entry. `onAnswer` gets its place in the log, or a refusal; its delivery by `read` is the proof. */
  readonly submit: Submit;
  /** Sends an entry without asking for an answer. */
  send(subject: string, payload: string | Uint8Array, headers: EntryHeaders): void;
  /** Delivers what follows `folded()`, in order and without a gap, for ever. */
  read(options: ReadOptions): { close(): void };
  /**
   * Resolves to what the log holds now: `firstSeq` is 1, unless a retention has cut it. @throws AppError log.lost,
   * log.unavailable
   */
  range(): Promise<LogBounds>;
  /** Reads from `fromSeq` to `toSeq`, one subject (wildcards allowed) or all. Awaits the promises of `onMessage`. */
  history(of: HistoryRange, onMessage: (message: LogMessage) => void | Promise<void>): Promise<void>;
  /** The newest `count` messages of a subject below `before` (null: below the end), oldest first. */
  newest(subject: string, count: number, before: number | null): Promise<LogMessage[]>;
  /** The payload at `seq`; null: there is none, or it has another subject. */
  fetch(seq: number, subject: string): Promise<string | null>;
  /** The first entry stored at this time or later; one beyond the last where there is none. @throws as `range` */
  seqAt(ms: number): Promise<number>;
  /** When the entry at `seq` was stored; null: there is none, or it cannot be read now. */
  timeAt(seq: number): Promise<number | null>;
  /** The subject of the entry at `seq`; null: there is none, or it cannot be read now. */
  subjectAt(seq: number): Promise<string | null>;
  /** The last sequence number that a delivery has told of, without a request; 0: none yet. */
  lastSeq(): number;
  /** The newest entry; `seq` 0: there is none. @throws AppError log.lost: not the log that is read; log.unavailable */
  head(): Promise<LogHead>;
  /** Remembers outside of the log how far it is folded: a later start can say what is gone. @throws what NATS throws */
  note(folded: LogPosition): Promise<void>;
};

export type LogHead = { readonly seq: number; readonly atMs: number };

export type ReadOptions = {
  /** The last entry that was folded; null: none. Each new consumer and each `head` proves that it still stands there. */
  readonly folded: () => LogPosition | null;
  readonly onMessage: (message: LogMessage) => void;
  readonly onLost: (error: AppError) => void;
  /** The delivery was interrupted: entries that were stored meanwhile come late. */
  readonly onInterrupted: () => void;
};

export type LogBounds = {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly firstMs: number;
  readonly lastMs: number;
};

export type EventLogOptions = LogStreamOptions & {
  /** The last entry that a snapshot covers; 0: none does. Asked where the log begins later than at 1. */
  readonly findCoveredTo: FindCoveredTo;
};

/** The server may take this long to answer about a stream: callers have given up by then. */
const timeoutMsMin = 2_000;
/**
 * A request waits this long for a server that answered slowly at the start. An answer that is lost with its server is
 * waited for as long.
 */
const timeoutMsMax = 8_000;
/**
 * The tries of a start wait this long, one after another. What a server lost as it died is asked again soon, and one
 * that recovers a large store gets the time that it needs. A minute in all: nobody waits for a start.
 */
const startTimeoutsMs = [4_000, 8_000, 16_000, 32_000];

/** @throws AppError log.lost, stream.foreign, log.unavailable */
export async function openEventLog(options: EventLogOptions): Promise<EventLog> {
  const { nc, fleet, findCoveredTo } = options;
  const version = nc.info?.version ?? 'unknown';
  refuseUntestedCluster(version, options.replicas ?? 1);
  const { info, accepted, deadSeq, isNoted, tookMs } = await openStreams(options);
  refuseUntestedCluster(version, info.config.num_replicas);
  const timeout = Math.min(Math.max(timeoutMsMin, 2 * tookMs), timeoutMsMax);
  const manager = await jetstreamManager(nc, { timeout, checkAPI: false });
  await warnOfAccountLimit(manager, version, options.log);
  const { created, config } = info;
  const identity: LogIdentity = { stream: config.name, created, accepted, findCoveredTo };
  const { stream } = identity;
  let folded: ReadOptions['folded'] = () => null;
  let reader: LogReader | null = null;
  let headSeq = info.state.last_seq;
  const { num_replicas: replicas } = config;
  const inspect = confirmLoss(() => inspectLog(manager, identity, folded()), replicas);
  const prove = confirmLoss(() => proveLog(manager, identity, folded()), replicas);
  return {
    deadSeq,
    isNoted,
    ...createWriter(options, inspect),
    read(reading) {
      folded = reading.folded;
      reader = openReader(nc, { manager, prove, identity }, reading);
      return reader;
    },
    async range() {
      const { state } = orThrow(await inspect());
      const [firstMs, lastMs] = [Date.parse(state.first_ts), Date.parse(state.last_ts)];
      return { firstSeq: state.first_seq, lastSeq: state.last_seq, firstMs, lastMs };
    },
    history: (of, onMessage) => readHistory(nc, stream, of, onMessage),
    newest: (subject, count, before) => readNewest(nc, stream, subject, count, before ?? undefined),
    async fetch(seq, subject) {
      const message = await manager.streams.getMessage(stream, { seq }).catch(() => null);
      return message?.subject === subject ? message.string() : null;
    },
    async seqAt(ms) {
      const { state } = orThrow(await inspect());
      return findSeqAt(manager, stream, state, ms);
    },
    async timeAt(seq) {
      return (await manager.streams.getMessage(stream, { seq }).catch(() => null))?.time.getTime() ?? null;
    },
    async subjectAt(seq) {
      return (await manager.streams.getMessage(stream, { seq }).catch(() => null))?.subject ?? null;
    },
    async head() {
      const { state } = orThrow(await inspect());
      headSeq = state.last_seq;
      // Empty, and what it had was accepted as gone: nothing of it will ever be delivered.
      if (state.messages === 0 && state.last_seq <= accepted.toSeq) return { seq: 0, atMs: 0 };
      return { seq: state.last_seq, atMs: Date.parse(state.last_ts) };
    },
    lastSeq: () => Math.max(headSeq, reader?.lastSeq() ?? 0),
    note: (position) => noteFolded(manager, fleet, position),
  };
}

/** Halves the log about twenty times; the server tells the next entry where one is missing. */
async function findSeqAt(
  { streams }: JetStreamManager,
  stream: string,
  { first_seq, last_seq }: StreamInfo['state'],
  ms: number,
): Promise<number> {
  let [low, high] = [first_seq, last_seq + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    // The library's type lacks an option that servers have since 2.9.
    const request = { seq: middle, next_by_subj: '>' } as { seq: number };
    const found = await streams.getMessage(stream, request);
    if (found !== null && found.time.getTime() < ms) low = found.seq + 1;
    else high = middle;
  }
  return low;
}

function openReader(
  nc: NatsConnection,
  { manager, prove, identity }: Proof,
  { folded, onMessage, onLost, onInterrupted }: ReadOptions,
) {
  const judge = (found: AppError | null) => {
    if (found === null) return 'go';
    if (found.code === 'log.lost') onLost(found);
    return 'retry';
  };
  return openLogReader(nc, {
    stream: identity.stream,
    fromSeq: (folded()?.seq ?? 0) + 1,
    onMessage,
    onInterrupted,
    async beforeReset() {
      const found = await prove();
      return judge(found instanceof AppError ? found : null);
    },
    onGap: async (fromSeq, toSeq) => judge(await explainGap(manager, identity, fromSeq, toSeq)),
  });
}

type Proof = {
  readonly manager: JetStreamManager;
  readonly prove: () => Promise<StreamInfo | AppError>;
  readonly identity: LogIdentity;
};

/** `tookMs`: the last question, when streams had been found or made. */
type Opened = OpenedLog & Pick<EventLog, 'deadSeq'> & { readonly tookMs: number };

/** A request without an answer is asked again: to find or create a stream twice changes nothing. */
async function openStreams(options: EventLogOptions): Promise<Opened> {
  const { nc, fleet, log } = options;
  for (let tries = 0; ; tries += 1) {
    const timeoutMs = startTimeoutsMs[tries] as number;
    try {
      const manager = await openManager(nc, timeoutMs);
      const opened = await openLogStreams(manager, options);
      const startedMs = performance.now();
      const deadSeq = await lastDeadSeq(manager, fleet);
      return { ...opened, deadSeq, tookMs: performance.now() - startedMs };
    } catch (error) {
      const late = [error, (error as Error).cause].find((it) => it instanceof TimeoutError);
      if (late === undefined) throw error;
      if (tries + 1 === startTimeoutsMs.length) throw silent(late);
      log.warn({ fleet, timeoutMs }, 'JetStream does not answer; asking again');
    }
  }
}

async function openManager(nc: NatsConnection, timeoutMs: number): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(nc, { timeout: timeoutMs });
  } catch (cause) {
    throw silent(cause as Error);
  }
}

function silent(cause: Error): AppError {
  const message =
    'JetStream does not answer on this NATS server; start it with "nats-server -js", and check the account';
  return new AppError('log.unavailable', `${message}: ${cause.message}`, { cause });
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
