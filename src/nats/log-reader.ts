/**
 * Reads a stream in order from a sequence number on, for ever: a push consumer without acknowledgements, as fast as
 * the server sends. What the ordered consumer of the library does by pulling is done here by hand: a gap in the
 * consumer's own sequence, silence past its heartbeats or a reconnect makes a new consumer where the last one ended.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection, Subscription } from '@nats-io/nats-core';
import { newInbox } from './connection.ts';

/** One message as the stream holds it: `seq` from 1, `atMs` the server's own time of storing it. */
export type LogMessage = {
  readonly seq: number;
  readonly atMs: number;
  readonly subject: string;
  readonly data: Uint8Array;
  readonly header: (name: string) => string | undefined;
};

export type LogReader = { close(): void };

export type LogReaderOptions = {
  readonly stream: string;
  readonly fromSeq: number;
  readonly onMessage: (message: LogMessage) => void;
  /** Called before each new consumer; a throw ends the reading through `onEnd`. */
  readonly beforeReset?: () => Promise<'go' | 'retry' | 'end'>;
};

const heartbeatMs = 1_000;
const silenceMs = 3 * heartbeatMs;
const retryMs = 250;

export function openLogReader(
  nc: NatsConnection,
  { stream, fromSeq, onMessage, beforeReset }: LogReaderOptions,
): LogReader {
  let nextSeq = fromSeq;
  let deliveredSeq = 0;
  let subscription: Subscription | null = null;
  let heardMs = Date.now();
  let closed = false;
  let resetting = false;

  const receive = (message: Msg, current: () => boolean) => {
    if (!current()) return;
    heardMs = Date.now();
    if (message.data.length === 0 && message.headers?.code === 100) {
      control(nc, message, reset, deliveredSeq);
      return;
    }
    const place = readPlace(message.reply ?? '');
    if (place === null) return;
    if (place.delivered !== deliveredSeq + 1) {
      reset();
      return;
    }
    deliveredSeq = place.delivered;
    if (place.seq < nextSeq) return;
    nextSeq = place.seq + 1;
    onMessage(toLogMessage(message, place.seq, place.atMs));
  };

  const reset = () => {
    if (resetting || closed) return;
    resetting = true;
    subscription?.unsubscribe();
    subscription = null;
    void attach().finally(() => {
      resetting = false;
      heardMs = Date.now();
    });
  };

  const attach = async () => {
    while (!closed) {
      try {
        const verdict = (await beforeReset?.()) ?? 'go';
        if (verdict === 'end') closed = true;
        if (verdict !== 'go') throw new Error(verdict);
        const inbox = newInbox(nc);
        const created = nc.subscribe(inbox, {
          callback: (error, message) => {
            if (error === null) receive(message, () => subscription === created);
          },
        });
        subscription = created;
        deliveredSeq = 0;
        await addConsumer(nc, stream, inbox, nextSeq).catch((cause) => {
          created.unsubscribe();
          throw cause;
        });
        return;
      } catch {
        if (!closed) await new Promise((done) => setTimeout(done, retryMs));
      }
    }
  };

  const watch = setInterval(() => {
    if (Date.now() - heardMs > silenceMs) reset();
  }, heartbeatMs);
  void (async () => {
    for await (const status of nc.status()) {
      if (closed) return;
      if (status.type === 'reconnect') reset();
    }
  })();
  reset();
  return {
    close() {
      closed = true;
      clearInterval(watch);
      subscription?.unsubscribe();
    },
  };
}

/** Follows the newest `last` messages and what comes after them, until `signal` fires. */
export async function readLog(
  nc: NatsConnection,
  stream: string,
  { last, signal }: { last: number; signal: AbortSignal },
  onMessage: (message: LogMessage) => void,
): Promise<void> {
  const manager = await jetstreamManager(nc);
  const { state } = await manager.streams.info(stream);
  const reader = openLogReader(nc, { stream, fromSeq: Math.max(1, state.last_seq - last + 1), onMessage });
  await new Promise<void>((done) => {
    if (signal.aborted) done();
    signal.addEventListener('abort', () => done(), { once: true });
    void nc.closed().then(() => done());
  });
  reader.close();
}

async function addConsumer(nc: NatsConnection, stream: string, inbox: string, fromSeq: number): Promise<void> {
  const manager = await jetstreamManager(nc, { checkAPI: false });
  await manager.consumers.add(stream, {
    deliver_subject: inbox,
    deliver_policy: 'by_start_sequence',
    opt_start_seq: fromSeq,
    ack_policy: 'none',
    replay_policy: 'instant',
    max_deliver: 1,
    flow_control: true,
    idle_heartbeat: heartbeatMs * 1_000_000,
    inactive_threshold: 30_000 * 1_000_000,
    mem_storage: true,
    num_replicas: 1,
  });
}

/** Heartbeats tell the last sequence that was sent, so that a lost last message is noticed too. */
function control(nc: NatsConnection, message: Msg, reset: () => void, deliveredSeq: number): void {
  const stalled = message.headers?.get('Nats-Consumer-Stalled') ?? '';
  if (message.reply !== undefined && message.reply !== '') message.respond();
  else if (stalled !== '') nc.publish(stalled);
  const sent = message.headers?.get('Nats-Last-Consumer') ?? '';
  if (sent !== '' && Number(sent) !== deliveredSeq) reset();
}

export const toLogMessage = (message: Msg, seq: number, atMs: number): LogMessage => ({
  seq,
  atMs,
  subject: message.subject,
  data: message.data,
  header: (name) => message.headers?.get(name) || undefined,
});

const dots = new Int32Array(16);

/** `$JS.ACK.<stream>.<consumer>.<tries>.<seq>.<delivered>.<ns>.<pending>`; newer servers put domain and account first. */
export function readPlace(reply: string): { seq: number; delivered: number; atMs: number } | null {
  if (!reply.startsWith('$JS.ACK.')) return null;
  // Read in place: splitting it would be most of what a message costs here.
  let count = 0;
  for (let at = reply.indexOf('.'); at >= 0 && count < dots.length; at = reply.indexOf('.', at + 1)) dots[count++] = at;
  const from = count === 8 ? 4 : 6;
  if (count < from + 4) return null;
  const token = (index: number, cut = 0) => Number(reply.slice((dots[index] ?? 0) + 1, (dots[index + 1] ?? 0) - cut));
  return { seq: token(from), delivered: token(from + 1), atMs: token(from + 2, 6) };
}
