/**
 * Delivers a stream in order from a sequence on, until closed. After a gap in the consumer sequence, missed heartbeats
 * or a reconnect, a new consumer continues where the last one stopped. The library's ordered consumer does the same,
 * but offers no hook before its new consumer delivers, so a log that was replaced in the meantime would be folded
 * (decision 014).
 */
import { createHash } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection, Subscription } from '@nats-io/nats-core';
import { sleep } from '../../timer.ts';
import { newInbox, subscribe } from '../connection.ts';
import { createHeaderReader, type ReadHeader } from '../message-headers.ts';
import {
  addPullConsumer,
  createWindows,
  dropConsumer,
  type Windows,
  windowBytesMax,
  windowBytesMin,
  windowCountMax,
} from './log-window.ts';

/** A stored message. `seq` is the stream sequence, from 1; `atMs` is the server's timestamp. */
export type LogMessage = {
  readonly seq: number;
  readonly atMs: number;
  readonly subject: string;
  readonly data: Uint8Array;
  readonly header: ReadHeader;
};

/** A sequence with enough about its entry to tell later whether the entry is still the same. */
export type LogPosition = {
  /** Stream sequence, from 1. */
  readonly seq: number;
  readonly subject: string;
  /** The server's timestamp, in milliseconds since 1970. */
  readonly atMs: number;
  /** SHA-256 of the payload, in hex. */
  readonly digest: string;
};

export function positionOf({ seq, subject, atMs, data }: Omit<LogMessage, 'header'>): LogPosition {
  return { seq, subject, atMs, digest: createHash('sha256').update(data).digest('hex') };
}

export type LogReader = {
  /** The stream's last sequence according to the latest delivery. 0 before the first delivery. */
  lastSeq(): number;
  close(): void;
};

type LogReaderOptions = {
  readonly stream: string;
  readonly fromSeq: number;
  readonly onMessage: (message: LogMessage) => void;
  /** Called before each new consumer. `retry` postpones it. */
  readonly beforeReset?: () => Promise<'go' | 'retry'>;
  /**
   * Called if entries `fromSeq` to `toSeq - 1` are missing. `go` skips them, as does the default; `retry` asks again.
   */
  readonly onGap?: (fromSeq: number, toSeq: number) => Promise<'go' | 'retry'>;
  /** Called when delivery stops until there is a new consumer. Entries stored in the meantime arrive late. */
  readonly onInterrupted?: () => void;
};

const heartbeatMs = 1_000;
const silenceMs = 3 * heartbeatMs;
const retryMs = 250;

export function openLogReader(nc: NatsConnection, options: LogReaderOptions): LogReader {
  const reading: Reading = {
    nc,
    options,
    nextSeq: options.fromSeq,
    deliveredSeq: 0,
    lastSeq: 0,
    gapTo: null,
    source: null,
    heardMs: performance.now(),
    closed: false,
    resetting: false,
  };
  countReaders(nc, 1);
  const watch = setInterval(() => {
    if (performance.now() - reading.heardMs > silenceMs) reset(reading);
  }, heartbeatMs);
  void resetAtReconnects(reading);
  reset(reading);
  return {
    lastSeq: () => reading.lastSeq,
    close() {
      if (reading.closed) return;
      reading.closed = true;
      clearInterval(watch);
      countReaders(nc, -1);
      leave(reading);
    },
  };
}

type Reading = {
  readonly nc: NatsConnection;
  readonly options: LogReaderOptions;
  nextSeq: number;
  /** Consumer sequence of the last message, from 1. */
  deliveredSeq: number;
  lastSeq: number;
  /** If not null, entries `nextSeq` to `gapTo - 1` are missing. */
  gapTo: number | null;
  /** Null between two consumers. */
  source: Source | null;
  heardMs: number;
  closed: boolean;
  resetting: boolean;
};

type Source = { readonly subscription: Subscription; consumer: { name: string; windows: Windows } | null };

/** Number of readers per connection. The readers of all fleets of a process share one, and its `max_pending`. */
const readersOf = new WeakMap<NatsConnection, number>();
const countReaders = (nc: NatsConnection, change: 1 | -1) => readersOf.set(nc, (readersOf.get(nc) ?? 0) + change);

function openWindow({ nc }: Reading, windows: Windows): void {
  const share = Math.floor((2 * windowBytesMax) / (readersOf.get(nc) ?? 1));
  const bytes = Math.max(windowBytesMin, Math.min(windowBytesMax, share));
  windows.open({ count: windowCountMax, bytes, heartbeatMs });
}

async function resetAtReconnects(reading: Reading): Promise<void> {
  for await (const status of reading.nc.status()) {
    if (reading.closed) return;
    if (status.type === 'disconnect') reading.options.onInterrupted?.();
    if (status.type === 'reconnect') reset(reading);
  }
}

function reset(reading: Reading): void {
  if (reading.resetting || reading.closed) return;
  reading.resetting = true;
  detach(reading);
  void attach(reading).finally(() => {
    reading.resetting = false;
    reading.heardMs = performance.now();
    // A gap may have been delivered before the consumer's creation was acknowledged.
    if (reading.gapTo !== null) reset(reading);
  });
}

function detach(reading: Reading): void {
  if (reading.source !== null) reading.options.onInterrupted?.();
  leave(reading);
}

function leave(reading: Reading): void {
  const { nc, options, source } = reading;
  reading.source = null;
  if (source === null || nc.isClosed()) return;
  source.subscription.unsubscribe();
  if (source.consumer !== null) dropConsumer(nc, options.stream, source.consumer.name);
}

async function attach(reading: Reading): Promise<void> {
  while (!reading.closed && !(await tryAttach(reading).catch(() => false))) {
    if (!reading.closed) await new Promise((done) => setTimeout(done, retryMs));
  }
}

async function tryAttach(reading: Reading): Promise<boolean> {
  const { nc, options } = reading;
  if ((await options.beforeReset?.()) === 'retry' || !(await passGap(reading))) return false;
  const inbox = newInbox(nc);
  const subscription = subscribe(nc, `${inbox}.*`, (error, message) => {
    // Messages of a replaced consumer may still be in flight.
    if (error === null && reading.source === source && source.consumer !== null)
      receive(reading, source.consumer.windows, message);
  });
  const source: Source = { subscription, consumer: null };
  reading.source = source;
  reading.deliveredSeq = 0;
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const { name } = await addPullConsumer(manager, options.stream, reading.nextSeq);
    const windows = createWindows(nc, options.stream, name, inbox);
    source.consumer = { name, windows };
    openWindow(reading, windows);
    return true;
  } catch (cause) {
    subscription.unsubscribe();
    throw cause;
  }
}

/** @returns false to retry; the next consumer will find the gap again */
async function passGap(reading: Reading): Promise<boolean> {
  const { gapTo, nextSeq, options } = reading;
  reading.gapTo = null;
  if (gapTo === null) return true;
  if ((await options.onGap?.(nextSeq, gapTo)) === 'retry') return false;
  reading.nextSeq = gapTo;
  return true;
}

function receive(reading: Reading, windows: Windows, message: Msg): void {
  reading.heardMs = performance.now();
  const delivery = parseAckSubject(message.reply ?? '');
  // Tell entries from status messages by the acknowledgement subject. Headers are under the publisher's control.
  if (delivery === null) receiveStatus(reading, windows, message);
  else if (delivery.delivered === reading.deliveredSeq + 1) receiveEntry(reading, windows, message, delivery);
  else reset(reading);
}

function receiveEntry(reading: Reading, windows: Windows, message: Msg, delivery: DeliveryInfo): void {
  reading.deliveredSeq = delivery.delivered;
  if (windows.onEntry(message)) openWindow(reading, windows);
  if (delivery.seq < reading.nextSeq) return;
  if (delivery.seq > reading.nextSeq && reading.options.onGap !== undefined) {
    reading.gapTo = delivery.seq;
    detach(reading);
    reset(reading);
    return;
  }
  reading.nextSeq = delivery.seq + 1;
  reading.lastSeq = delivery.seq + delivery.pending;
  reading.options.onMessage(toLogMessage(message, delivery.seq, delivery.atMs));
}

function receiveStatus(reading: Reading, windows: Windows, message: Msg): void {
  const status = windows.read(message);
  if (status === 'full' || status === 'expired') openWindow(reading, windows);
  // A heartbeat names the last message sent, so a lost one is noticed even if no other follows.
  const sent = message.headers?.get('Nats-Last-Consumer') ?? '';
  if (status === 'heartbeat' && sent !== '' && Number(sent) !== reading.deliveredSeq) reset(reading);
  // A deleted consumer falls silent, and the silence triggers the reset. By then, a stream being restored is usually
  // back.
}

/** Delivers the newest `last` messages and then new ones, until `signal` is aborted. */
export async function readLog(
  nc: NatsConnection,
  stream: string,
  { last, signal }: { last: number; signal: AbortSignal },
  onMessage: (message: LogMessage) => void,
): Promise<void> {
  const manager = await jetstreamManager(nc);
  const { state } = await manager.streams.info(stream);
  const reader = openLogReader(nc, { stream, fromSeq: Math.max(1, state.last_seq - last + 1), onMessage });
  await Promise.race([sleep(null, signal), nc.closed()]);
  reader.close();
}

export function toLogMessage(message: Msg, seq: number, atMs: number): LogMessage {
  const { subject, data } = message;
  return { seq, atMs, subject, data, header: createHeaderReader(message, data) };
}

/** `delivered`: the consumer sequence. `pending`: number of matching messages that followed when this one was sent. */
type DeliveryInfo = {
  readonly seq: number;
  readonly delivered: number;
  readonly atMs: number;
  readonly pending: number;
};

/**
 * Parses `$JS.ACK.<stream>.<consumer>.<tries>.<seq>.<delivered>.<ns>.<pending>`. Newer servers insert domain and
 * account before the stream.
 * @returns null if `reply` is not an acknowledgement subject
 */
export function parseAckSubject(reply: string): DeliveryInfo | null {
  const tokens = reply.split('.');
  if (tokens.length < 9 || tokens[0] !== '$JS' || tokens[1] !== 'ACK') return null;
  const [seq = '', delivered = '', nanoseconds = '', pending = ''] = tokens.slice(tokens.length === 9 ? 5 : 7);
  return {
    seq: Number(seq),
    delivered: Number(delivered),
    atMs: Number(nanoseconds.slice(0, -6)),
    pending: Number(pending),
  };
}
