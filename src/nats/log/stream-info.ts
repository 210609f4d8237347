/** Names and limits of a fleet's streams, and JetStream API errors. */
import { JetStreamApiError, type JetStreamManager, type StreamInfo } from '@nats-io/jetstream';
import { AppError } from '../../errors.ts';

/** Error codes of the JetStream API. */
const streamNotFound = 10_059;
const noSuitablePeers = 10_005;
const replicasNotSupported = 10_074;
/** Insufficient resources, insufficient storage resources. */
const outOfSpace: ReadonlySet<number> = new Set([10_023, 10_047]);

/** Temporarily unavailable, not the leader, offline. */
const withoutLeader: ReadonlySet<number> = new Set([10_008, 10_009, 10_118]);

export const isStreamNotFound = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === streamNotFound;

export const isOutOfSpace = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && outOfSpace.has(cause.code);

/** The cluster has fewer nodes than the stream has replicas. */
export const isWithoutPeers = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === noSuitablePeers;

/** The server cannot replicate streams. A single leaf node reports this although it announces a cluster name. */
export const isUnclustered = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === replicasNotSupported;

/** Tells whether the error or one of its causes is due to an election or a lost quorum, which usually passes. */
export function isWithoutLeader(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof JetStreamApiError && withoutLeader.has(cause.code)) return true;
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

/** An entry of 64 KiB (protocol.md §2) and its headers. The server refuses larger messages. */
export const messageBytesMax = 70 * 1_024;

/**
 * Dead letters are copies for people to read; the entries themselves stay in the log, so the newest are enough. Without
 * a limit, a client that publishes invalid entries would fill the disk twice. A dead letter has at most about 9 KB, so
 * all of them have 200 MB. There is no `max_bytes`, because the server would reserve that space and refuse the stream
 * if less is free.
 */
export const deadLimits = { discard: 'old', max_msgs: 20_000 } as const;
