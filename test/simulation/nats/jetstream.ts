/** JetStream: streams that capture subjects, with duplicate windows, and the API calls that the service makes. */
import type { StreamConfig } from '@nats-io/jetstream';
import { type Consumer, type ConsumerConfig, type ConsumerOptions, createConsumer } from './consumer.ts';
import { empty, type Message, matches, readField, writeHeader } from './protocol.ts';
import { createStream, type Disk, messageAt, messageIdOf, purge, type StoredMessage, type Stream } from './store.ts';

export type JetStreamOptions = ConsumerOptions & {
  readonly disk: Disk;
  /** Called before all messages before `seq` are removed. */
  readonly onPurge: (stream: Stream, seq: number) => void;
};

export type JetStream = {
  /** Stores a message or replies to a request. @returns false if it is not for JetStream */
  take(message: Message): boolean;
  readonly consumers: ReadonlyMap<string, Consumer>;
};

type ApiError = { readonly code: number; readonly err_code: number; readonly description: string };
const errors = {
  noStream: { code: 404, err_code: 10_059, description: 'stream not found' },
  noConsumer: { code: 404, err_code: 10_014, description: 'consumer not found' },
  noMessage: { code: 404, err_code: 10_037, description: 'no message found' },
  noLeader: { code: 503, err_code: 10_008, description: 'JetStream system temporarily unavailable' },
  noSpace: { code: 503, err_code: 10_047, description: 'insufficient storage resources available' },
  nameInUse: { code: 400, err_code: 10_058, description: 'stream name already in use with a different configuration' },
} as const satisfies Record<string, ApiError>;

const apiPrefix = '$JS.API.';

export function createJetStream(options: JetStreamOptions): JetStream {
  const { scheduler, random, process, disk, send, cluster } = options;
  const consumers = new Map<string, Consumer>();
  const duplicates = new Map<Stream, Map<string, { seq: number; atMs: number }>>();
  const nowMs = () => scheduler.nowMs + process.clockOffsetMs;
  const reply = ({ reply: to }: Message, body: object, header: Buffer | null = null) => {
    if (to !== '') send({ subject: to, reply: '', header, data: Buffer.from(JSON.stringify(body)) });
  };

  const capture = (stream: Stream, given: Message) => {
    const isCutOff = cluster.leadershipOf(stream.config.name) === 'cutOff';
    if (isCutOff && random.chance(0.5)) return;
    const message = isCutOff ? { ...given, reply: '' } : given;
    const known = knownIds(duplicates, stream, nowMs());
    const id = readField(message.header, 'Nats-Msg-Id');
    const first = id === undefined ? undefined : known.get(id);
    const name = stream.config.name;
    if (disk.full === 'silent') return;
    if (first !== undefined) return reply(message, { stream: name, seq: first.seq, duplicate: true });
    if (disk.full === 'refuses' || disk.fullStreams.has(name))
      return reply(message, { error: errors.noSpace, stream: name, seq: 0 });
    const stored = append(stream, message, nowMs());
    if (id !== undefined) known.set(id, stored);
    for (const consumer of consumers.values()) if (consumer.stream === stream) consumer.onStored(stored.seq);
    reply(message, { stream: name, seq: stored.seq });
  };

  const calls = createCalls(options, consumers, nowMs);
  const call = (message: Message) => {
    if (disk.full === 'silent') return;
    const tail = message.subject.slice(apiPrefix.length);
    const text = message.data.length === 0 ? '{}' : message.data.toString();
    for (const [prefix, run] of Object.entries(calls)) {
      if (tail !== prefix && !tail.startsWith(`${prefix}.`)) continue;
      const body = run(tail.slice(prefix.length + 1).split('.'), JSON.parse(text), message);
      if (body !== null) reply(message, { type: 'io.nats.jetstream.api.v1.response', ...body });
      return;
    }
    throw new Error(`the simulated server does not know ${message.subject}`);
  };

  return {
    consumers,
    take(message) {
      const { subject } = message;
      if (subject.startsWith(apiPrefix)) {
        call(message);
        return true;
      }
      const tokens = subject.split('.');
      const streams = [...disk.streams.values()].filter((it) =>
        it.patterns.some((pattern) => matches(pattern, tokens)),
      );
      // Only the leader of a stream subscribes to its subjects.
      const led = streams.filter(({ config }) => cluster.leadershipOf(config.name) !== 'none');
      for (const stream of led) capture(stream, message);
      return led.length > 0;
    },
  };
}

/** Message ids in the duplicate window. A starting server reads them from its store. */
function knownIds(
  all: Map<Stream, Map<string, { seq: number; atMs: number }>>,
  stream: Stream,
  nowMs: number,
): Map<string, { seq: number; atMs: number }> {
  const windowMs = (stream.config.duplicate_window ?? 0) / 1e6;
  let known = all.get(stream);
  if (known === undefined) {
    known = new Map();
    for (const stored of stream.messages) {
      const id = messageIdOf(stored);
      if (id !== undefined) known.set(id, stored);
    }
    all.set(stream, known);
  }
  for (const [id, { atMs }] of known) {
    if (atMs >= nowMs - windowMs) break;
    known.delete(id);
  }
  return known;
}

function append(stream: Stream, { subject, header, data }: Message, nowMs: number): StoredMessage {
  stream.lastSeq += 1;
  // If the server's clock is set back, timestamps in its store go back.
  stream.lastMs = Math.floor(nowMs);
  const stored = { seq: stream.lastSeq, atMs: stream.lastMs, subject, header, data };
  if (readField(header, 'Nats-Rollup') === 'sub') purge(stream, (it) => it.subject === subject);
  stream.messages.push(stored);
  const max = stream.config.max_msgs;
  if (max > 0 && stream.messages.length > max) {
    stream.messages.shift();
    stream.firstSeq = stream.messages[0]?.seq ?? stream.lastSeq + 1;
  }
  return stored;
}

type Call = (tail: readonly string[], body: Record<string, unknown>, message: Message) => object | null;

function createCalls(
  options: JetStreamOptions,
  consumers: Map<string, Consumer>,
  nowMs: () => number,
): Record<string, Call> {
  const { disk, random, send, onPurge, cluster } = options;
  const withStream = (name: string | undefined, run: (stream: Stream) => object): object => {
    const stream = disk.streams.get(name ?? '');
    if (stream === undefined) return { error: errors.noStream };
    return cluster.leadershipOf(stream.config.name) === 'none' ? { error: errors.noLeader } : run(stream);
  };
  const readStream = (name: string | undefined, read: (stream: Stream) => object): object =>
    withStream(name, (stream) => read(cluster.viewOf(stream)));
  const create = (config: StreamConfig) => {
    const known = disk.streams.get(config.name);
    if (known !== undefined)
      return JSON.stringify(known.config) === JSON.stringify(config) ? infoOf(known) : { error: errors.nameInUse };
    const stream = createStream({ ...config }, nowMs());
    disk.streams.set(config.name, stream);
    return infoOf(stream);
  };
  const addConsumer = (streamName: string | undefined, name: string | undefined, body: Record<string, unknown>) =>
    withStream(streamName, (stream) => {
      const config = body.config as ConsumerConfig;
      const id = name ?? `c${random.int(0, 1e9)}`;
      consumers.get(id)?.close();
      consumers.set(
        id,
        createConsumer(options, stream, id, config, () => consumers.delete(id)),
      );
      return { stream_name: stream.config.name, name: id, config, num_pending: consumers.get(id)?.pending() ?? 0 };
    });
  return {
    INFO: () => ({ memory: 0, storage: 0, streams: disk.streams.size, consumers: 0, limits: {}, api: {} }),
    'STREAM.NAMES': (_tail, { subject, offset }) => {
      const tokens = String(subject ?? '').split('.');
      const streams = [...disk.streams.values()]
        .filter(({ patterns }) => subject === undefined || patterns.some((it) => matches(it, tokens)))
        .map(({ config }) => config.name);
      const type = 'io.nats.jetstream.api.v1.stream_names_response';
      return { type, total: streams.length, offset: offset ?? 0, limit: 1_024, streams: offset ? [] : streams };
    },
    'STREAM.INFO': ([name], body) =>
      readStream(name, (stream) => infoOf(stream, body.subjects_filter as string | undefined)),
    'STREAM.CREATE': (_tail, body) => create(body as unknown as StreamConfig),
    'STREAM.UPDATE': ([name], body) =>
      withStream(name, (stream) => {
        stream.config = { ...stream.config, ...body };
        return infoOf(stream);
      }),
    'STREAM.PURGE': ([name], body) =>
      withStream(name, (stream) => ({ success: true, purged: purge(stream, purgedBy(stream, body, onPurge)) })),
    'STREAM.DELETE': ([name]) => withStream(name, () => ({ success: disk.streams.delete(name ?? '') })),
    'STREAM.MSG.GET': ([name], body) =>
      readStream(name, (stream) => {
        const found = findMessage(stream, body);
        return found === undefined ? { error: errors.noMessage } : { message: wireOf(found) };
      }),
    'CONSUMER.CREATE': ([stream, name], body) => addConsumer(stream, name, body),
    'CONSUMER.DELETE': ([, name]) => {
      const consumer = consumers.get(name ?? '');
      consumer?.close();
      return consumer === undefined ? { error: errors.noConsumer } : { success: true };
    },
    'CONSUMER.MSG.NEXT': ([, name], body, message) => {
      const consumer = consumers.get(name ?? '');
      if (consumer !== undefined) consumer.pull(message.reply, body);
      else send({ subject: message.reply, reply: '', header: writeHeader('503', {}), data: empty });
      return null;
    },
  };
}

function findMessage(stream: Stream, body: Record<string, unknown>): StoredMessage | undefined {
  if (typeof body.last_by_subj === 'string') {
    const pattern = body.last_by_subj.split('.');
    return stream.messages.findLast(({ subject }) => matches(pattern, subject.split('.')));
  }
  const seq = Number(body.seq);
  if (typeof body.next_by_subj !== 'string') return messageAt(stream, seq);
  const pattern = body.next_by_subj.split('.');
  return stream.messages.find((it) => it.seq >= seq && matches(pattern, it.subject.split('.')));
}

const wireOf = ({ subject, seq, header, data, atMs }: StoredMessage) => ({
  subject,
  seq,
  ...(header === null ? {} : { hdrs: header.toString('base64') }),
  data: data.toString('base64'),
  time: new Date(atMs).toISOString(),
});

const timeOf = (message: StoredMessage | undefined) => new Date(message?.atMs ?? 0).toISOString();

/** Selects the messages of a purge: all before `seq`, or all that match `filter`. */
function purgedBy(
  stream: Stream,
  { seq, filter }: Record<string, unknown>,
  onPurge: JetStreamOptions['onPurge'],
): (message: StoredMessage) => boolean {
  if (typeof filter === 'string') {
    const pattern = filter.split('.');
    return ({ subject }) => matches(pattern, subject.split('.'));
  }
  const before = Number(seq ?? stream.lastSeq + 1);
  onPurge(stream, before);
  return (it) => it.seq < before;
}

function countSubjects({ messages }: Stream, filter: string): Record<string, number> {
  const pattern = filter.split('.');
  const counts: Record<string, number> = {};
  for (const { subject } of messages)
    if (matches(pattern, subject.split('.'))) counts[subject] = (counts[subject] ?? 0) + 1;
  return counts;
}

const bytesOf = (messages: readonly StoredMessage[]) =>
  messages.reduce(
    (sum, { subject, header, data }) => sum + subject.length + (header?.length ?? 0) + data.length + 30,
    0,
  );

function infoOf(stream: Stream, filter?: string) {
  const { config, created, messages, firstSeq, lastSeq } = stream;
  return {
    config,
    created,
    state: {
      messages: messages.length,
      bytes: bytesOf(messages),
      consumer_count: 0,
      num_deleted: 0,
      num_subjects: 0,
      first_seq: lastSeq === 0 ? 0 : firstSeq,
      last_seq: lastSeq,
      first_ts: timeOf(messages[0]),
      last_ts: timeOf(messages.at(-1)),
      ...(filter === undefined ? {} : { subjects: countSubjects(stream, filter) }),
    },
  };
}
