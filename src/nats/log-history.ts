/**
 * Reads what stands in a log from one entry to another. In a cluster any node may serve it, also one that lags and has
 * fewer entries than the leader of the stream: that is noticed, and never taken for the end.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import { openLogRange } from './log-range.ts';
import type { LogMessage } from './log-reader.ts';

/** `subject`: of one subject (wildcards allowed); default: of all. */
export type HistoryRange = { readonly fromSeq: number; readonly toSeq: number; readonly subject?: string };

/** A node that lags has seconds to catch up; each try may get another node. */
const triesMax = 20;
const pauseMsDefault = 250;

/** Awaits promises that `onMessage` returns. @throws AppError log.unavailable: not all of it can be read now */
export async function readHistory(
  nc: NatsConnection,
  stream: string,
  { fromSeq, toSeq, subject }: HistoryRange,
  onMessage: (message: LogMessage) => void | Promise<void>,
  pauseMs = pauseMsDefault,
): Promise<void> {
  let nextSeq = fromSeq;
  /** @returns whether it was read to `toSeq` */
  const read = async (): Promise<boolean> => {
    const of = { fromSeq: nextSeq, toSeq, ...(subject === undefined ? {} : { subject }) };
    for await (const batch of (await openLogRange(nc, stream, of)).batches) {
      for (const message of batch) {
        if (message.seq > toSeq) return true;
        nextSeq = message.seq + 1;
        const pause = onMessage(message);
        if (pause !== undefined) await pause;
      }
    }
    return nextSeq > toSeq;
  };
  if ((await read()) || subject !== undefined) return;
  // What was stored since it was asked for is not part of it.
  const lastSeq = await lastStored(nc, stream);
  const endSeq = Math.min(toSeq, lastSeq);
  for (let tries = 0; nextSeq <= endSeq; tries += 1) {
    if (tries === triesMax) throw lagging(stream, nextSeq - 1, lastSeq);
    if (tries > 0) await new Promise((done) => setTimeout(done, pauseMs));
    if (await read()) return;
  }
}

/** As the leader of the stream says; 0: nothing is, or not what would be the last. */
async function lastStored(nc: NatsConnection, stream: string): Promise<number> {
  const { streams } = await jetstreamManager(nc, { checkAPI: false });
  const { last_seq: lastSeq, messages } = (await streams.info(stream)).state;
  return messages > 0 && (await streams.getMessage(stream, { seq: lastSeq })) !== null ? lastSeq : 0;
}

const lagging = (stream: string, seq: number, lastSeq: number): AppError =>
  new AppError(
    'log.unavailable',
    `the log could not be read to its end: a node of NATS lags, and has ${stream} up to entry ${seq}, where the leader has ${lastSeq}; try again`,
  );
