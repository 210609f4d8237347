/**
 * Reads a stream in order from a sequence number on, without end. After a gap in the consumer's own sequence, silence
 * beyond its heartbeats or a reconnect, a new consumer starts where the last one ended. The library's ordered consumer
 * does this too, but nothing can be asked before its new consumer delivers, and a log that was replaced meanwhile would
 * be folded (decision 014).
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

/** One message as the stream holds it: `seq` from 1, `atMs` the server's own time of storing it. */
export type LogMessage = {
  readonly seq: number;
  readonly atMs: number;
  readonly subject: string;
  readonly data: Uint8Array;
  readonly header: ReadHeader;
};

/** A place in a log, with enough about the entry there to tell later whether it is still the same. */
export type LogPosition = {
  /** The sequence number in the stream, from 1. */
  readonly seq: number;
  readonly subject: string;
  /** When the server stored it, in milliseconds since 1970. */
  readonly atMs: number;
  /** SHA-256 of the payload, in hex. */
  readonly digest: string;
};

export function positionOf({ seq, subject, atMs, data }: Omit<LogMessage, 'header'>): LogPosition {
  return { seq, subject, atMs, digest: createHash('sha256').update(data).digest('hex') };
}

export type LogReader = {
  /** The last sequence number of the stream that a delivery has told of; 0: none yet. */
  lastSeq(): number;
  close(): void;
};

export type LogReaderOptions = {
  readonly stream: string;
  readonly fromSeq: number;
  readonly onMessage: (message: LogMessage) => void;
  /** Called before each new consumer; `retry`: not yet. */
  readonly beforeReset?: () => Promise<'go' | 'retry'>;
  /** Entries from `fromSeq` to the one before `toSeq` are missing; `retry`: not yet. Default: they are passed over. */
  readonly onGap?: (fromSeq: number, toSeq: number) => Promise<'go' | 'retry'>;
  /** Nothing is delivered until there is a new consumer: what is stored meanwhile comes late. */
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
  /** The consumer's own sequence number of its last message, from 1. */
  deliveredSeq: number;
  lastSeq: number;
  /** Entries from the next one to the one before this sequence number are missing. */
  gapTo: number | null;
  /** It is null between two consumers. */
  source: Source | null;
  heardMs: number;
  closed: boolean;
  resetting: boolean;
};

type Source = { readonly subscription: Subscription; consumer: { name: string; windows: Windows } | null };

/** The readers of all fleets of a process share a connection, and what may wait for it. */
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
    // A consumer may deliver before its creation is answered.
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
    // A consumer that was replaced may still have messages on their way.
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

/** @returns false: not yet; the next consumer will find the gap again */
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
  const place = readPlace(message.reply ?? '');
  // Only by its place is an entry told from what the server says itself: its headers are those of whoever published it.
  if (place === null) receiveStatus(reading, windows, message);
  else if (place.delivered === reading.deliveredSeq + 1) receiveEntry(reading, windows, message, place);
  else reset(reading);
}

function receiveEntry(reading: Reading, windows: Windows, message: Msg, place: Place): void {
  reading.deliveredSeq = place.delivered;
  if (windows.onEntry(message)) openWindow(reading, windows);
  if (place.seq < reading.nextSeq) return;
  if (place.seq > reading.nextSeq && reading.options.onGap !== undefined) {
    reading.gapTo = place.seq;
    detach(reading);
    reset(reading);
    return;
  }
  reading.nextSeq = place.seq + 1;
  reading.lastSeq = place.seq + place.pending;
  reading.options.onMessage(toLogMessage(message, place.seq, place.atMs));
}

function receiveStatus(reading: Reading, windows: Windows, message: Msg): void {
  const status = windows.read(message);
  if (status === 'full' || status === 'expired') openWindow(reading, windows);
  // A heartbeat names the last message that was sent, so that a lost last one is noticed too.
  const sent = message.headers?.get('Nats-Last-Consumer') ?? '';
  if (status === 'beat' && sent !== '' && Number(sent) !== reading.deliveredSeq) reset(reading);
  // A consumer that is gone is silent from now on. A stream that is just being restored has come back when that is noticed.
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
  await Promise.race([sleep(null, signal), nc.closed()]);
  reader.close();
}

export function toLogMessage(message: Msg, seq: number, atMs: number): LogMessage {
  const { subject, data } = message;
  return { seq, atMs, subject, data, header: createHeaderReader(message, data) };
}

/** `delivered`: the consumer's own sequence number; `pending`: how many messages followed when it was sent. */
type Place = { readonly seq: number; readonly delivered: number; readonly atMs: number; readonly pending: number };

/** `$JS.ACK.<stream>.<consumer>.<tries>.<seq>.<delivered>.<ns>.<pending>`; newer servers put domain and account first. */
export function readPlace(reply: string): Place | null {
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
