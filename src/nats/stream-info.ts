/** The names of a fleet's streams, and what the server says of them. */
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { AppError } from '../errors.ts';
import { isStreamNotFound } from './stream-error.ts';

export const logPrefix = 'STOPGATE_';
export const logName = (fleet: string): string => `${logPrefix}${fleet}`;
export const deadName = (fleet: string): string => `STOPGATE-DEAD_${fleet}`;

/** Null: there is no such stream. @throws AppError log.unavailable */
export async function infoOf(manager: JetStreamManager, stream: string): Promise<StreamInfo | null> {
  try {
    return await manager.streams.info(stream);
  } catch (cause) {
    if (isStreamNotFound(cause)) return null;
    const message = `the stream ${stream} does not answer: ${(cause as Error).message}`;
    throw new AppError('log.unavailable', message, { cause });
  }
}
