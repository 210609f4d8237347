/** An ephemeral consumer: pushes what the stream holds, in order, with flow control and heartbeats; or is pulled. */
import type { Random } from '../random.ts';
import type { Process, Scheduler } from '../scheduler.ts';
import type { Cluster } from './cluster.ts';
import { empty, type Message, matches, writeHeader } from './protocol.ts';
import type { StoredMessage, Stream } from './store.ts';

export type ConsumerOptions = {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly process: Process;
  /** `to`: where it goes, where that is not its own subject. */
  readonly send: (message: Message, to?: string) => void;
  readonly hasInterest: (subject: string) => boolean;
  readonly cluster: Cluster;
};

export type ConsumerConfig = {
  readonly deliver_subject?: string;
  readonly deliver_policy?: string;
  readonly opt_start_seq?: number;
  readonly filter_subject?: string;
  readonly idle_heartbeat?: number;
  readonly inactive_threshold?: number;
  readonly flow_control?: boolean;
};

export type Consumer = {
  readonly stream: Stream;
  /** Undefined: it is pulled. */
  readonly inbox: string | undefined;
  /** Sends what may be sent now. */
  pump(): void;
  /** The stream has one more. */
  onStored(seq: number): void;
  pull(inbox: string, batch: number): void;
  pending(): number;
  onFlowReply(subject: string): void;
  /** The next message is not sent, or sent twice. */
  disturb(how: 'skip' | 'repeat'): void;
  close(): void;
};

/** What a node that lags has not got yet, in entries. */
const entriesBehindMax = 20;
/** So many messages, and it asks whether they have arrived. */
const flowEvery = 40;

export function createConsumer(
  { scheduler, process, send, hasInterest, random, cluster }: ConsumerOptions,
  stream: Stream,
  name: string,
  config: ConsumerConfig,
  onClosed: () => void,
): Consumer {
  const inbox = config.deliver_subject;
  const pattern = config.filter_subject?.split('.') ?? null;
  const matchesFilter = ({ subject }: StoredMessage) => pattern === null || matches(pattern, subject.split('.'));
  const newest = config.deliver_policy === 'last_per_subject' ? newestOfEach(stream.messages) : null;
  const { lastSeq: createdAtSeq } = stream;
  const isWanted = (stored: StoredMessage) =>
    matchesFilter(stored) && (newest === null || stored.seq > createdAtSeq || newest.has(stored.seq));
  let nextSeq = config.deliver_policy === 'new' ? stream.lastSeq + 1 : (config.opt_start_seq ?? 1);
  let delivered = 0;
  let sinceFlow = 0;
  let flows = 0;
  let stalled: string | null = null;
  let disturbance: 'skip' | 'repeat' | null = null;
  let closed = false;
  let interestMs = scheduler.nowMs;
  const lagMs = cluster.lagMs();
  /** The node on which it is has not got what comes after. */
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
  const control = (status: string, reply: string, fields: Record<string, string>) =>
    send({ subject: inbox ?? '', reply, header: writeHeader(status, fields), data: empty });
  const askFlow = () => {
    sinceFlow = 0;
    flows += 1;
    stalled = `$JS.FC.${stream.config.name}.${name}.${flows}`;
    control('100 FlowControl Request', stalled, {});
  };
  const pump = () => {
    if (closed || inbox === undefined || !hasInterest(inbox)) return;
    for (const stored of from(stream, nextSeq)) {
      if (stalled !== null || stored.seq > visibleSeq) return;
      nextSeq = stored.seq + 1;
      if (!isWanted(stored)) continue;
      deliver(stored, inbox);
      sinceFlow += 1;
      if (config.flow_control && sinceFlow >= flowEvery) askFlow();
    }
  };
  const beat = () => {
    if (closed || inbox === undefined) return;
    if (hasInterest(inbox)) {
      interestMs = scheduler.nowMs;
      control('100 Idle Heartbeat', '', {
        ...{ 'Nats-Last-Consumer': String(delivered), 'Nats-Last-Stream': String(nextSeq - 1) },
        ...(stalled === null ? {} : { 'Nats-Consumer-Stalled': stalled }),
      });
      pump();
    } else if (scheduler.nowMs - interestMs > (config.inactive_threshold ?? 5e9) / 1e6) return close();
    scheduler.after(process, (config.idle_heartbeat ?? 1e9) / 1e6, beat);
  };
  const close = () => {
    closed = true;
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
  if (inbox !== undefined) {
    scheduler.after(process, 0, pump);
    scheduler.after(process, (config.idle_heartbeat ?? 1e9) / 1e6, beat);
  }
  return {
    stream,
    inbox,
    pump,
    onStored,
    close,
    pending: () => pending(nextSeq).length,
    pull(to, batch) {
      for (const stored of pending(nextSeq).slice(0, batch)) {
        nextSeq = stored.seq + 1;
        deliver(stored, to);
      }
    },
    onFlowReply(subject) {
      if (subject !== stalled) return;
      stalled = null;
      pump();
    },
    disturb(how) {
      disturbance = how;
    },
  };
}

/** The sequence numbers of the last message of each subject. */
const newestOfEach = (messages: readonly StoredMessage[]): ReadonlySet<number> =>
  new Set(new Map(messages.map(({ subject, seq }) => [subject, seq])).values());

/** Those from `seq` on. Most of the time it is the last one only. */
function from({ messages }: Stream, seq: number): StoredMessage[] {
  let start = messages.length;
  while (start > 0 && (messages[start - 1] as StoredMessage).seq >= seq) start -= 1;
  return messages.slice(start);
}
