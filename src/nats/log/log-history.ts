/**
 * Reads a log from one entry to another. In a cluster any node may serve it, even one that lags and has fewer entries
 * than the leader of the stream. That is noticed, and never taken for the end.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../../errors.ts';
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
  for (let tries = 0; !(await read()); tries += 1) {
    const missingSeq = await findNext(nc, stream, nextSeq, subject);
    if (missingSeq > toSeq) return;
    if (tries === triesMax) throw lagging(stream, missingSeq);
    if (tries > 0) await new Promise((done) => setTimeout(done, pauseMs));
  }
}

/** The first entry of `seq` or after it, as the leader of the stream says; infinity: there is none. */
async function findNext(nc: NatsConnection, stream: string, seq: number, subject = '>'): Promise<number> {
  const { streams } = await jetstreamManager(nc, { checkAPI: false });
  // The library's type lacks an option that servers have since 2.9.
  const request = { seq, next_by_subj: subject } as { seq: number };
  return (await streams.getMessage(stream, request))?.seq ?? Number.POSITIVE_INFINITY;
}

const lagging = (stream: string, missingSeq: number): AppError =>
  new AppError(
    'log.unavailable',
    `the log could not be read to its end: a node of NATS lags, and does not have entry ${missingSeq} of ${stream}, which the leader has; try again`,
  );
