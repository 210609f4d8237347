/** An ephemeral pull consumer: serves pull requests in order, within their limits. */
import type { Random } from '../random.ts';
import type { Process, Scheduler } from '../scheduler.ts';
import type { Cluster } from './cluster.ts';
import { empty, type Message, matches, writeHeader } from './protocol.ts';
import type { StoredMessage, Stream } from './store.ts';

export type ConsumerOptions = {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly process: Process;
  /** `to`: the subject of the delivery, if it differs from that of the message. */
  readonly send: (message: Message, to?: string) => void;
  readonly hasInterest: (subject: string) => boolean;
  readonly cluster: Cluster;
};

export type ConsumerConfig = {
  readonly deliver_policy?: string;
  readonly opt_start_seq?: number;
  readonly filter_subject?: string;
  readonly inactive_threshold?: number;
};

/** Durations are in nanoseconds. */
export type PullRequest = {
  readonly batch?: number;
  readonly max_bytes?: number;
  readonly expires?: number;
  readonly idle_heartbeat?: number;
};

export type Consumer = {
  readonly stream: Stream;
  /** Called when the stream has a new message. */
  onStored(seq: number): void;
  /** Adds a pull request, which is served now or when a message is stored. */
  pull(inbox: string, request: PullRequest): void;
  pending(): number;
  /** Drops or repeats the next message. */
  disturb(how: 'skip' | 'repeat'): void;
  close(): void;
};

/** Number of entries that a lagging node is missing. */
const entriesBehindMax = 20;
/** Simulates a server that ends a window early because of its size. */
const earlyEndChance = 0.02;

type Waiting = { readonly inbox: string; left: number; bytesLeft: number };

export function createConsumer(
  { scheduler, process, send, hasInterest, random, cluster }: ConsumerOptions,
  stream: Stream,
  name: string,
  config: ConsumerConfig,
  onClosed: () => void,
): Consumer {
  const pattern = config.filter_subject?.split('.') ?? null;
  const matchesFilter = ({ subject }: StoredMessage) => pattern === null || matches(pattern, subject.split('.'));
  const newest = config.deliver_policy === 'last_per_subject' ? newestOfEach(stream.messages) : null;
  const { lastSeq: createdAtSeq } = stream;
  const isWanted = (stored: StoredMessage) =>
    matchesFilter(stored) && (newest === null || stored.seq > createdAtSeq || newest.has(stored.seq));
  let nextSeq = config.deliver_policy === 'new' ? stream.lastSeq + 1 : (config.opt_start_seq ?? 1);
  let delivered = 0;
  let disturbance: 'skip' | 'repeat' | null = null;
  let closed = false;
  let waiting: Waiting[] = [];
  let askedMs = scheduler.nowMs;
  const lagMs = cluster.lagMs();
  /** The last sequence that the consumer's node has received. */
  let visibleSeq = lagMs === 0 ? Number.POSITIVE_INFINITY : createdAtSeq - random.int(0, entriesBehindMax);
  const pending = (fromSeq: number) =>
    stream.messages.filter((it) => it.seq >= fromSeq && it.seq <= visibleSeq && isWanted(it));

  const deliver = (stored: StoredMessage, to: string) => {
    delivered += 1;
    const left =
      pattern === null
        ? Math.max(0, Math.min(stream.lastSeq, visibleSeq) - stored.seq)
        : pending(stored.seq + 1).length;
    const place = `1.${stored.seq}.${delivered}.${stored.atMs}000000.${left}`;
    const reply = `$JS.ACK.${stream.config.name}.${name}.${place}`;
    const how = disturbance;
    disturbance = null;
    if (how !== 'skip') send({ subject: stored.subject, reply, header: stored.header, data: stored.data }, to);
    if (how === 'repeat') deliver(stored, to);
  };
  const tell = ({ inbox }: Waiting, status: string, fields: Record<string, string> = {}) =>
    send({ subject: inbox, reply: '', header: writeHeader(status, fields), data: empty });
  const end = (pull: Waiting) => {
    waiting = waiting.filter((it) => it !== pull);
  };
  const pump = () => {
    for (const stored of from(stream, nextSeq)) {
      if (stored.seq > visibleSeq) return;
      if (!isWanted(stored)) {
        nextSeq = stored.seq + 1;
        continue;
      }
      const pull = takerOf(stored);
      if (pull === undefined) return;
      nextSeq = stored.seq + 1;
      pull.left -= 1;
      pull.bytesLeft -= sizeOf(stored);
      if (pull.left === 0) end(pull);
      deliver(stored, pull.inbox);
    }
  };
  /** The first request with a subscriber and enough room. Requests that do not fit end. */
  const takerOf = (stored: StoredMessage): Waiting | undefined => {
    for (const pull of waiting) {
      if (hasInterest(pull.inbox)) {
        if (sizeOf(stored) <= pull.bytesLeft && !random.chance(earlyEndChance)) return pull;
        tell(pull, '409 Message Size Exceeds MaxBytes');
      }
      end(pull);
    }
    return undefined;
  };
  const beat = (pull: Waiting, everyMs: number) => {
    if (closed || !waiting.includes(pull)) return;
    const fields = { 'Nats-Last-Consumer': String(delivered), 'Nats-Last-Stream': String(nextSeq - 1) };
    tell(pull, '100 Idle Heartbeat', fields);
    scheduler.after(process, everyMs, () => beat(pull, everyMs));
  };
  const closeWhenLeft = () => {
    if (closed) return;
    waiting = waiting.filter(({ inbox }) => hasInterest(inbox));
    if (waiting.length > 0) askedMs = scheduler.nowMs;
    const leftMs = (config.inactive_threshold ?? 5e9) / 1e6 - (scheduler.nowMs - askedMs);
    if (leftMs <= 0) close();
    else scheduler.after(process, leftMs, closeWhenLeft);
  };
  const close = () => {
    closed = true;
    for (const pull of waiting) tell(pull, '409 Consumer Deleted');
    waiting = [];
    onClosed();
  };
  const onStored = (seq: number) => {
    if (lagMs === 0) return pump();
    scheduler.after(process, lagMs, () => {
      visibleSeq = Math.max(visibleSeq, seq);
      pump();
    });
  };
  if (lagMs > 0) onStored(createdAtSeq);
  scheduler.after(process, (config.inactive_threshold ?? 5e9) / 1e6, closeWhenLeft);
  return {
    stream,
    onStored,
    close,
    pending: () => pending(nextSeq).length,
    pull(inbox, { batch = 1, max_bytes = Number.POSITIVE_INFINITY, expires = 0, idle_heartbeat = 0 }) {
      const pull: Waiting = { inbox, left: batch, bytesLeft: max_bytes };
      askedMs = scheduler.nowMs;
      waiting.push(pull);
      pump();
      if (!waiting.includes(pull)) return;
      if (idle_heartbeat > 0) scheduler.after(process, idle_heartbeat / 1e6, () => beat(pull, idle_heartbeat / 1e6));
      scheduler.after(process, expires / 1e6, () => {
        if (closed || !waiting.includes(pull)) return;
        tell(pull, '408 Request Timeout');
        end(pull);
      });
    },
    disturb(how) {
      disturbance = how;
    },
  };
}

/** Approximates the size counted by a real server. */
const sizeOf = ({ subject, header, data }: StoredMessage): number =>
  subject.length + (header?.length ?? 0) + data.length + 80;

/** Sequences of the last message on each subject. */
const newestOfEach = (messages: readonly StoredMessage[]): ReadonlySet<number> =>
  new Set(new Map(messages.map(({ subject, seq }) => [subject, seq])).values());

/** Returns the messages from `seq` on, mostly only the last one. */
function from({ messages }: Stream, seq: number): StoredMessage[] {
  let start = messages.length;
  while (start > 0 && (messages[start - 1] as StoredMessage).seq >= seq) start -= 1;
  return messages.slice(start);
}
