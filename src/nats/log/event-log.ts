/** A fleet's log: stores entries, delivers them in order forever, and reads stored entries back (protocol.md §2). */
import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { type NatsConnection, TimeoutError } from '@nats-io/nats-core';
import { AppError } from '../../errors.ts';
import { warnOfAccountLimit } from '../accounts.ts';
import { refuseUntestedCluster, warnOfUnsafeServer } from '../server-version.ts';
import { confirmLoss } from './confirm-loss.ts';
import { explainGap, type FindCoveredTo, inspectLog, type LogIdentity, proveLog } from './log-continuity.ts';
import { type HistoryRange, readHistory } from './log-history.ts';
import { readNewest } from './log-range.ts';
import { type LogMessage, type LogPosition, type LogReader, openLogReader } from './log-reader.ts';
import { type LogStreamOptions, lastDeadSeq, type OpenedLog, openLogStreams } from './log-streams.ts';
import { type EntryHeaders, type Stored, type Submit, submitterOf, toHeaders } from './log-submitter.ts';
import { noteFolded } from './recognise-log.ts';

export type EventLog = {
  /** Sequence of the last refused entry that has a dead letter; 0 if there is none. */
  readonly deadSeq: number;
  /** Whether a later start can recognise this log. False before the first `note`. */
  readonly isNoted: boolean;
  /** Stores one entry. @throws AppError log.unavailable or log.lost if it is not stored, or may not be */
  append(subject: string, payload: string, headers: EntryHeaders): Promise<Stored>;
  /**
   * Publishes an entry. `onAnswer` gets the acknowledgement or an error. Only the delivery by `read` proves that the
   * entry is stored.
   */
  readonly submit: Submit;
  /** Publishes an entry without requesting an acknowledgement. */
  send(subject: string, payload: string | Uint8Array, headers: EntryHeaders): void;
  /** Delivers the entries after `folded()`, in order and without gaps, until closed. */
  read(options: ReadOptions): { close(): void };
  /**
   * The log's current bounds. `firstSeq` is 1 unless retention has removed the beginning.
   * @throws AppError log.lost, log.unavailable
   */
  range(): Promise<LogBounds>;
  /** Reads `fromSeq` to `toSeq`, optionally filtered by subject (wildcards allowed). Awaits promises of `onMessage`. */
  history(of: HistoryRange, onMessage: (message: LogMessage) => void | Promise<void>): Promise<void>;
  /**
   * The newest `count` messages on a subject with a sequence below `before`, oldest first. Null means no upper limit.
   */
  newest(subject: string, count: number, before: number | null): Promise<LogMessage[]>;
  /** The payload at `seq`, or null if there is no such entry or it has another subject. */
  fetch(seq: number, subject: string): Promise<string | null>;
  /** The first sequence stored at this time or later, or the last sequence plus one. @throws as `range` */
  seqAt(ms: number): Promise<number>;
  /** When the entry at `seq` was stored, or null if it does not exist or cannot be read now. */
  timeAt(seq: number): Promise<number | null>;
  /** The subject of the entry at `seq`, or null if it does not exist or cannot be read now. */
  subjectAt(seq: number): Promise<string | null>;
  /** The highest sequence known so far, without a request. 0 if none is known. */
  lastSeq(): number;
  /**
   * The newest entry; `seq` is 0 if there is none.
   * @throws AppError log.lost if the log was replaced; log.unavailable
   */
  head(): Promise<LogHead>;
  /** Records outside the log how far it is folded, so that a later start notices lost entries. @throws NATS errors */
  note(folded: LogPosition): Promise<void>;
};

export type LogHead = { readonly seq: number; readonly atMs: number };

type ReadOptions = {
  /** The last folded entry, or null. Each new consumer and each `head` verifies that the log still contains it. */
  readonly folded: () => LogPosition | null;
  readonly onMessage: (message: LogMessage) => void;
  readonly onLost: (error: AppError) => void;
  /** Delivery was interrupted. Entries stored in the meantime arrive late. */
  readonly onInterrupted: () => void;
};

export type LogBounds = {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly firstMs: number;
  readonly lastMs: number;
};

type EventLogOptions = LogStreamOptions & {
  /** Called only if the log begins after sequence 1. */
  readonly findCoveredTo: FindCoveredTo;
};

/** Shortest timeout of a stream request. Callers have given up by then. */
const timeoutMsMin = 2_000;
/** Longest timeout, for a server that was slow at startup. A reply that is lost with its server costs the same wait. */
const timeoutMsMax = 8_000;
/**
 * Timeouts of successive attempts at startup: short first, for a reply lost with its server, then long enough for a
 * server that recovers a large store. One minute in total.
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
  warnOfUnsafeServer(nc, options.log);
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
      return {
        firstSeq: state.first_seq,
        lastSeq: state.last_seq,
        firstMs: Date.parse(state.first_ts),
        lastMs: Date.parse(state.last_ts),
      };
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
      // The log is empty and its losses were accepted, so nothing up to `last_seq` will ever be delivered.
      if (state.messages === 0 && state.last_seq <= accepted.toSeq) return { seq: 0, atMs: 0 };
      return { seq: state.last_seq, atMs: Date.parse(state.last_ts) };
    },
    lastSeq: () => Math.max(headSeq, reader?.lastSeq() ?? 0),
    note: (position) => noteFolded(manager, fleet, position),
  };
}

/** Binary search, about twenty requests. The server skips missing sequences. */
async function findSeqAt(
  { streams }: JetStreamManager,
  stream: string,
  { first_seq, last_seq }: StreamInfo['state'],
  ms: number,
): Promise<number> {
  let low = first_seq;
  let high = last_seq + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    // The library's type lacks this option, which servers have had since 2.9.
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
  const proceed = (found: AppError | null) => {
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
      return proceed(found instanceof AppError ? found : null);
    },
    onGap: async (fromSeq, toSeq) => proceed(await explainGap(manager, identity, fromSeq, toSeq)),
  });
}

type Proof = {
  readonly manager: JetStreamManager;
  readonly prove: () => Promise<StreamInfo | AppError>;
  readonly identity: LogIdentity;
};

/** `tookMs`: duration of the last request at startup, after the streams were opened. */
type Opened = OpenedLog & Pick<EventLog, 'deadSeq'> & { readonly tookMs: number };

/** Retries on timeouts, which is safe because finding or creating a stream is idempotent. */
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
      const timeout = [error, (error as Error).cause].find((candidate) => candidate instanceof TimeoutError);
      if (timeout === undefined) throw error;
      if (tries + 1 === startTimeoutsMs.length) throw noJetStream(timeout);
      log.warn({ fleet, timeoutMs }, 'JetStream does not answer; retrying');
    }
  }
}

async function openManager(nc: NatsConnection, timeoutMs: number): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(nc, { timeout: timeoutMs });
  } catch (cause) {
    throw noJetStream(cause as Error);
  }
}

function noJetStream(cause: Error): AppError {
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
        // The connection is closing or the payload is too large. Neither may crash the process.
        log.warn({ err: cause, subject }, 'entry not sent');
      }
    },
  };
}
