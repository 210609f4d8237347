/**
 * Reads the entries between two sequences. In a cluster, a node that lags behind the stream leader may serve the
 * consumer. Its end is never taken for the end of the log.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../../errors.ts';
import { openLogRange } from './log-range.ts';
import type { LogMessage } from './log-reader.ts';

/** `subject`: a filter, wildcards allowed. Default: all subjects. */
export type HistoryRange = { readonly fromSeq: number; readonly toSeq: number; readonly subject?: string };

/** Gives a lagging node seconds to catch up. Each attempt may reach another node. */
const triesMax = 20;
const pauseMsDefault = 250;

/** Awaits promises that `onMessage` returns. @throws AppError log.unavailable if the range cannot be read completely */
export async function readHistory(
  nc: NatsConnection,
  stream: string,
  { fromSeq, toSeq, subject }: HistoryRange,
  onMessage: (message: LogMessage) => void | Promise<void>,
  pauseMs = pauseMsDefault,
): Promise<void> {
  let nextSeq = fromSeq;
  /** @returns whether it reached `toSeq` */
  const read = async (): Promise<boolean> => {
    const range = { fromSeq: nextSeq, toSeq, ...(subject === undefined ? {} : { subject }) };
    for await (const batch of (await openLogRange(nc, stream, range)).batches) {
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

/** Asks the stream leader for the first matching sequence from `seq` on. Infinity if there is none. */
async function findNext(nc: NatsConnection, stream: string, seq: number, subject = '>'): Promise<number> {
  const { streams } = await jetstreamManager(nc, { checkAPI: false });
  // The library's type lacks this option, which servers have had since 2.9.
  const request = { seq, next_by_subj: subject } as { seq: number };
  return (await streams.getMessage(stream, request))?.seq ?? Number.POSITIVE_INFINITY;
}

const lagging = (stream: string, missingSeq: number): AppError =>
  new AppError(
    'log.unavailable',
    `the log could not be read to its end: a NATS node lags behind and lacks entry ${missingSeq} of ${stream}, which the leader has; try again`,
  );
