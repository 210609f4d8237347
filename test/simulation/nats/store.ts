/** The streams on a server's disk. Unsynced messages are lost in a power failure. */
import type { StreamConfig } from '@nats-io/jetstream';
import { readField } from './protocol.ts';

export type StoredMessage = {
  readonly seq: number;
  readonly atMs: number;
  readonly subject: string;
  readonly header: Buffer | null;
  readonly data: Buffer;
};

export type Stream = {
  config: StreamConfig;
  readonly created: string;
  readonly patterns: readonly (readonly string[])[];
  messages: StoredMessage[];
  /** Messages purged from the beginning, in order. The server no longer has them. */
  cut: StoredMessage[];
  firstSeq: number;
  lastSeq: number;
  lastMs: number;
  syncedSeq: number;
};

export type Disk = {
  readonly streams: Map<string, Stream>;
  /** If set, nothing can be stored: publishes get an error or no reply. */
  full: 'no' | 'refuses' | 'silent';
  /** Streams that store nothing. */
  readonly fullStreams: Set<string>;
};

export const createDisk = (): Disk => ({ streams: new Map(), full: 'no', fullStreams: new Set() });

export function createStream(config: StreamConfig, atMs: number): Stream {
  return {
    config,
    created: new Date(atMs).toISOString(),
    patterns: config.subjects.map((subject) => subject.split('.')),
    messages: [],
    cut: [],
    firstSeq: 1,
    lastSeq: 0,
    lastMs: 0,
    syncedSeq: 0,
  };
}

/** All messages ever stored and not lost, including purged ones. */
export const historyOf = ({ cut, messages }: Stream): readonly StoredMessage[] => [...cut, ...messages];

/** Removes messages that match `isGone`. */
export function purge(stream: Stream, isGone: (message: StoredMessage) => boolean): number {
  const gone = stream.messages.filter(isGone);
  if (gone.length === 0) return 0;
  stream.messages = stream.messages.filter((it) => !isGone(it));
  stream.cut.push(...gone);
  stream.firstSeq = stream.messages[0]?.seq ?? stream.lastSeq + 1;
  return gone.length;
}

export const messageAt = ({ messages }: Pick<Stream, 'messages'>, seq: number): StoredMessage | undefined => {
  let low = 0;
  let high = messages.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = messages[middle] as StoredMessage;
    if (found.seq === seq) return found;
    if (found.seq < seq) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
};

/** Removes everything after `seq`, like a power failure or the restore of an older backup. */
export function truncate(stream: Stream, seq: number): readonly StoredMessage[] {
  const gone = stream.messages.filter((it) => it.seq > seq);
  stream.messages = stream.messages.filter((it) => it.seq <= seq);
  if (gone.length > 0) stream.lastSeq = stream.messages.at(-1)?.seq ?? stream.firstSeq - 1;
  stream.lastMs = stream.messages.at(-1)?.atMs ?? 0;
  stream.syncedSeq = Math.min(stream.syncedSeq, stream.lastSeq);
  return gone;
}

/**
 * Shifts all messages from one on by one sequence up, or down, which drops that message. A killed node could renumber
 * messages like this up to 2.10. @returns the messages that moved or are gone
 */
export function renumber(stream: Stream, index: number, by: 1 | -1): readonly StoredMessage[] {
  const moved = stream.messages.slice(index);
  const kept = by === 1 ? moved : moved.slice(1);
  stream.messages = [...stream.messages.slice(0, index), ...kept.map((it) => ({ ...it, seq: it.seq + by }))];
  stream.lastSeq += by;
  stream.lastMs = stream.messages.at(-1)?.atMs ?? 0;
  stream.syncedSeq = Math.min(stream.syncedSeq, stream.lastSeq);
  return moved;
}

export const messageIdOf = ({ header }: Pick<StoredMessage, 'header'>) => readField(header, 'Nats-Msg-Id');
