/**
 * A fleet's log: the stream `STOPGATE_<fleet>`, and `STOPGATE-DEAD_<fleet>` for what was refused (protocol 2). Opening
 * checks both; nothing here ever makes a lost log anew without being told to.
 */
import {
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { newInbox } from './connection.ts';
import { openLogRange, readNewest } from './log-range.ts';
import { type LogMessage, openLogReader } from './log-reader.ts';

export type EntryHeaders = { readonly messageId?: string | undefined; readonly replica?: string | undefined };
export type Stored = { readonly seq: number; readonly duplicate: boolean };

export type EventLog = {
  /** The last sequence number at the time of opening: what stands up to it is history. */
  readonly headSeq: number;
  /** The last refused entry that has its dead letter. */
  readonly deadSeq: number;
  /** Stores one entry. @throws AppError log.unavailable, log.lost: not stored, or not known to be */
  append(subject: string, payload: string, headers: EntryHeaders): Promise<Stored>;
  /** Sends it on its way; `onAnswer` tells of a refusal, or of where it stands. The delivery by `read` is the proof. */
  submit(subject: string, payload: string, headers: EntryHeaders, onAnswer: (answer: AppError | Stored) => void): void;
  /** Sends it without asking for an answer: that it stands in the log is seen by its delivery. */
  send(subject: string, payload: string, headers: EntryHeaders): void;
  read(onMessage: (message: LogMessage) => void, onLost: (error: AppError) => void): { close(): void };
  /** What the log holds now: `firstSeq` 1, unless a retention has cut it. @throws AppError log.lost, log.unavailable */
  range(): Promise<LogBounds>;
  /** Reads what stands from `fromSeq` to `toSeq`, of one subject (wildcards allowed) or of all; goes on after a promise. */
  history(of: HistoryRange, onMessage: (message: LogMessage) => void | Promise<void>): Promise<void>;
  /** The newest `count` messages of a subject below `before` (null: below the end), oldest first. */
  newest(subject: string, count: number, before: number | null): Promise<LogMessage[]>;
  /** The payload that stands at `seq`, or null. */
  fetch(seq: number): Promise<string | null>;
  /** The newest sequence number. @throws AppError log.lost, log.unavailable */
  lastSeq(): Promise<number>;
};

export type LogBounds = {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly firstMs: number;
  readonly lastMs: number;
};
export type HistoryRange = {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly subject?: string;
};

export type EventLogOptions = {
  readonly nc: NatsConnection;
  readonly fleet: string;
  readonly replicas: number;
  /** Go on with an empty log where there had been one. */
  readonly acceptEmptyLog: boolean;
  readonly log: Logger;
};

const ackTimeoutMs = 5_000;
const streamNotFound = 10_059;

/** @throws AppError log.lost, stream.foreign, log.unavailable */
export async function openEventLog(options: EventLogOptions): Promise<EventLog> {
  const { nc, fleet } = options;
  const manager = await openManager(nc);
  await refuseEavesdroppers(manager, fleet);
  const info = await openStreams(manager, options);
  const created = info.created;
  const stream = info.config.name;
  const send = createSubmitter(nc, () => inspect(manager, stream, created));
  const submit: EventLog['submit'] = (subject, payload, given, onAnswer) => send(subject, payload, given, onAnswer);
  return {
    headSeq: info.state.last_seq,
    deadSeq: await lastDeadSeq(manager, fleet),
    submit,
    send(subject, payload, given) {
      try {
        nc.publish(subject, payload, { headers: toHeaders(given) });
      } catch (cause) {
        // The connection is closing, or the payload is more than the server takes; this must not end the process.
        options.log.warn({ err: cause, subject }, 'entry not sent');
      }
    },
    append: (subject, payload, given) =>
      new Promise((resolve, reject) => {
        submit(subject, payload, given, (answer) => (answer instanceof AppError ? reject(answer) : resolve(answer)));
      }),
    read: (onMessage, onLost) =>
      openLogReader(nc, {
        stream,
        fromSeq: 1,
        onMessage,
        beforeReset: async () => {
          const found = await inspect(manager, stream, created);
          if (!(found instanceof AppError)) return 'go';
          if (found.code === 'log.lost') onLost(found);
          return 'retry';
        },
      }),
    async range() {
      const found = await inspect(manager, stream, created);
      if (found instanceof AppError) throw found;
      const { first_seq: firstSeq, last_seq: lastSeq, first_ts: first, last_ts: last } = found.state;
      return { firstSeq, lastSeq, firstMs: Date.parse(first), lastMs: Date.parse(last) };
    },
    async history({ fromSeq, toSeq, subject }, onMessage) {
      for await (const batch of (
        await openLogRange(nc, stream, { fromSeq, ...(subject === undefined ? {} : { subject }) })
      ).batches) {
        for (const message of batch) {
          if (message.seq > toSeq) return;
          const pause = onMessage(message);
          if (pause !== undefined) await pause;
        }
        if ((batch.at(-1)?.seq ?? 0) >= toSeq) return;
      }
    },
    newest: (subject, count, before) => readNewest(nc, stream, subject, count, before ?? undefined),
    async fetch(seq) {
      const message = await manager.streams.getMessage(stream, { seq }).catch(() => null);
      return message === null ? null : message.string();
    },
    async lastSeq() {
      const found = await inspect(manager, stream, created);
      if (found instanceof AppError) throw found;
      return found.state.last_seq;
    },
  };
}

async function openManager(nc: NatsConnection): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(nc, { timeout: 2_000 });
  } catch (cause) {
    const words =
      'JetStream does not answer on this NATS server; start it with "nats-server -js", and check the account';
    throw new AppError('log.unavailable', `${words}: ${(cause as Error).message}`, { cause });
  }
}

/** The stream as it is now, or why it is no longer ours. */
async function inspect(manager: JetStreamManager, stream: string, created: string): Promise<StreamInfo | AppError> {
  try {
    const info = await manager.streams.info(stream);
    if (info.created === created) return info;
    return lost(`the log ${stream} was made anew at ${info.created}`);
  } catch (cause) {
    if (isNotFound(cause)) return lost(`the log ${stream} is gone`);
    return new AppError('log.unavailable', `the log ${stream} does not answer: ${(cause as Error).message}`, { cause });
  }
}

const lost = (what: string) =>
  new AppError('log.lost', `${what}; nothing is decided without it. Restore it, or restart with --accept-empty-log`);
const isNotFound = (cause: unknown) => cause instanceof JetStreamApiError && cause.code === streamNotFound;

// --- the two streams --------------------------------------------------------------------------------------------

const logConfig = (fleet: string, replicas: number): Partial<StreamConfig> & { name: string } => ({
  name: `STOPGATE_${fleet}`,
  description: `stopgate: the log of fleet ${fleet}`,
  subjects: ['worker', 'task', 'queue', 'own', 'decision'].map((head) => `stopgate.${fleet}.${head}.>`),
  storage: 'file',
  retention: 'limits',
  discard: 'new',
  deny_delete: true,
  deny_purge: true,
  allow_rollup_hdrs: false,
  max_age: 0,
  max_bytes: -1,
  max_msgs: -1,
  max_msg_size: -1,
  max_msgs_per_subject: -1,
  duplicate_window: 120_000_000_000,
  num_replicas: replicas,
});

const deadName = (fleet: string) => `STOPGATE-DEAD_${fleet}`;
const deadNote = (fleet: string, created: string) =>
  `stopgate: refused entries of fleet ${fleet}; its log was created at ${created}`;

/** The dead stream remembers which log it belongs to, so that a log that was lost or replaced is noticed at a start. */
async function openStreams(
  manager: JetStreamManager,
  { fleet, replicas, acceptEmptyLog, log }: EventLogOptions,
): Promise<StreamInfo> {
  const wanted = logConfig(fleet, replicas);
  const dead = await infoOf(manager, deadName(fleet));
  let info = await infoOf(manager, wanted.name);
  if (info === null) {
    if (dead !== null && !acceptEmptyLog) throw lost(`the log ${wanted.name} is gone, though there was one`);
    info = await add(manager, wanted);
    log.info({ stream: wanted.name }, 'log created');
  }
  const differences = differencesOf(info.config, wanted);
  if (differences.length > 0) {
    const hint = 'move that stream away, or choose another fleet with --fleet';
    throw new AppError(
      'stream.foreign',
      `the stream ${wanted.name} exists with other settings (${differences.join('; ')}); ${hint}`,
    );
  }
  const note = deadNote(fleet, info.created);
  if (dead === null) {
    await add(manager, { ...wanted, name: deadName(fleet), subjects: [`stopgate.${fleet}.dead.>`], description: note });
  } else if (dead.config.description !== note) {
    if (!acceptEmptyLog) throw lost(`the log ${wanted.name} was made anew at ${info.created}`);
    await manager.streams.update(deadName(fleet), { ...dead.config, description: note });
  }
  return info;
}

async function infoOf(manager: JetStreamManager, stream: string): Promise<StreamInfo | null> {
  try {
    return await manager.streams.info(stream);
  } catch (cause) {
    if (isNotFound(cause)) return null;
    throw new AppError('log.unavailable', `the stream ${stream} does not answer: ${(cause as Error).message}`, {
      cause,
    });
  }
}

async function add(manager: JetStreamManager, config: Partial<StreamConfig> & { name: string }): Promise<StreamInfo> {
  try {
    // The library fills in the object that it is given.
    return await manager.streams.add({ ...config });
  } catch (cause) {
    const code = cause instanceof JetStreamApiError && cause.status < 500 ? 'stream.foreign' : 'log.unavailable';
    throw new AppError(code, `the stream ${config.name} cannot be created: ${(cause as Error).message}`, { cause });
  }
}

function differencesOf(found: StreamConfig, wanted: Partial<StreamConfig>): string[] {
  return (Object.keys(wanted) as (keyof StreamConfig)[])
    .filter((key) => key !== 'description' && key !== 'num_replicas')
    .filter((key) => JSON.stringify(sorted(found[key] ?? defaultOf(key))) !== JSON.stringify(sorted(wanted[key])))
    .map((key) => `${key} is ${JSON.stringify(found[key] ?? defaultOf(key))}, not ${JSON.stringify(wanted[key])}`)
    .concat(
      found.mirror ? ['it is a mirror'] : [],
      found.sources?.length ? ['it has sources'] : [],
      found.sealed ? ['it is sealed'] : [],
    );
}

const sorted = (value: unknown) => (Array.isArray(value) ? [...value].sort() : value);
/** Servers leave out what is off. */
const defaultOf = (key: keyof StreamConfig) =>
  key.startsWith('deny') || key.startsWith('allow') ? false : key === 'max_age' ? 0 : -1;

/** A stream that captures requests would answer them in our place. */
async function refuseEavesdroppers(manager: JetStreamManager, fleet: string): Promise<void> {
  for (const verb of ['decide', 'probe', 'verify', 'evaluate', 'get', 'list', 'check', 'run']) {
    const subject = `stopgate.${fleet}.${verb}.>`;
    for await (const name of manager.streams.names(subject)) {
      throw new AppError(
        'stream.foreign',
        `the stream ${name} captures requests (${subject}); take that subject out of it`,
      );
    }
  }
}

/** Dead letters are published in the log's order, so the newest one tells what is done. */
async function lastDeadSeq(manager: JetStreamManager, fleet: string): Promise<number> {
  const info = await infoOf(manager, deadName(fleet));
  if (info === null || info.state.last_seq === 0) return 0;
  const last = await manager.streams.getMessage(deadName(fleet), { seq: info.state.last_seq }).catch(() => null);
  const seq = last?.json<{ seq?: unknown }>()?.seq;
  return typeof seq === 'number' ? seq : 0;
}

// --- publishing -------------------------------------------------------------------------------------------------

type Ack = { seq?: number; duplicate?: boolean; error?: { err_code?: number; description?: string } };
type Submit = (
  subject: string,
  payload: string,
  given: EntryHeaders,
  onAnswer: (answer: AppError | Stored) => void,
) => void;

/** One shared inbox takes the acknowledgements of everything that is stored. */
function createSubmitter(nc: NatsConnection, inspectLog: () => Promise<StreamInfo | AppError>): Submit {
  const inbox = newInbox(nc);
  const open = new Map<string, { onAnswer: (answer: AppError | Stored) => void; untilMs: number }>();
  let count = 0;
  const answer = (token: string, given: AppError | Stored) => {
    const waiting = open.get(token);
    open.delete(token);
    waiting?.onAnswer(given);
  };
  nc.subscribe(`${inbox}.*`, {
    callback: (_error, message) => {
      const token = message.subject.slice(inbox.length + 1);
      if (!open.has(token)) return;
      // Nobody listens on the subject: the stream, or JetStream itself, is not there.
      if (isNoResponder(message)) {
        void inspectLog().then((found) =>
          answer(token, found instanceof AppError ? found : unavailable('nobody stores it')),
        );
        return;
      }
      const ack = message.json<Ack>();
      if (ack.error === undefined) answer(token, { seq: ack.seq ?? 0, duplicate: ack.duplicate ?? false });
      else answer(token, unavailable(`${ack.error.description ?? 'refused'} (${ack.error.err_code ?? 0})`));
    },
  });
  // In the order of their sending, so that a look ends at the first that may still be answered.
  const sweep = setInterval(() => {
    for (const [token, { untilMs }] of open) {
      if (untilMs > performance.now()) return;
      answer(token, unavailable(`no acknowledgement within ${ackTimeoutMs} ms`));
    }
  }, 250);
  sweep.unref();
  void nc.closed().then(() => clearInterval(sweep));
  return (subject, payload, given, onAnswer) => {
    count += 1;
    const token = count.toString(36);
    open.set(token, { onAnswer, untilMs: performance.now() + ackTimeoutMs });
    try {
      nc.publish(subject, payload, { reply: `${inbox}.${token}`, headers: toHeaders(given) });
    } catch (cause) {
      answer(token, unavailable((cause as Error).message));
    }
  };
}

function toHeaders({ messageId, replica }: EntryHeaders) {
  const h = headers();
  if (messageId !== undefined) h.set('Nats-Msg-Id', messageId);
  if (replica !== undefined) h.set('Stopgate-Replica', replica);
  return h;
}

const isNoResponder = (message: Msg) => message.data.length === 0 && message.headers?.code === 503;
const unavailable = (why: string) => new AppError('log.unavailable', `the log did not take the entry: ${why}`);
