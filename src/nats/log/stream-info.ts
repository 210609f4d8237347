/** The names of a fleet's streams, and what the server says of them. */
import { JetStreamApiError, type JetStreamManager, type StreamInfo } from '@nats-io/jetstream';
import { AppError } from '../../errors.ts';

/** Errors of the JetStream API, told apart by their codes. */
const streamNotFound = 10_059;
const noSuitablePeers = 10_005;
const replicasNotSupported = 10_074;

/** The errors of a cluster, or of the nodes that have the stream: temporarily unavailable, not the leader, offline. */
const withoutLeader: ReadonlySet<number> = new Set([10_008, 10_009, 10_118]);

export const isStreamNotFound = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === streamNotFound;

/** The cluster has fewer nodes than a stream wants copies. */
export const isWithoutPeers = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === noSuitablePeers;

/** A leaf node alone: it announces a cluster by its own name. */
export const isUnclustered = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === replicasNotSupported;

/** Tells whether it is an election's, or that of a cluster too few of whose nodes run: it passes by itself. */
export function isWithoutLeader(error: unknown): boolean {
  for (let it = error; it instanceof Error; it = it.cause)
    if (it instanceof JetStreamApiError && withoutLeader.has(it.code)) return true;
  return false;
}

export const logPrefix = 'STOPGATE_';
export const logName = (fleet: string): string => `${logPrefix}${fleet}`;
export const deadName = (fleet: string): string => `STOPGATE-DEAD_${fleet}`;

/** Returns null if there is no such stream. @throws AppError log.unavailable */
export async function infoOf(manager: JetStreamManager, stream: string): Promise<StreamInfo | null> {
  try {
    return await manager.streams.info(stream);
  } catch (cause) {
    if (isStreamNotFound(cause)) return null;
    const message = `the stream ${stream} does not answer: ${(cause as Error).message}`;
    throw new AppError('log.unavailable', message, { cause });
  }
}

// What the streams of a fleet may hold.

/** An entry of 64 KiB (docs/protocol.md §2) and its headers. What is larger the server refuses, and nothing is stored. */
export const messageBytesMax = 70 * 1_024;

/**
 * Dead letters are copies, for people to look at: the newest are enough, and the entries themselves stay in the log.
 * Without an end whoever publishes nonsense would fill the disk twice. One has some 9 KB at most, so they are 200 MB.
 * No `max_bytes`: the server would set that much aside, and refuse the stream where less is free.
 */
export const deadLimits = { discard: 'old', max_msgs: 20_000 } as const;
