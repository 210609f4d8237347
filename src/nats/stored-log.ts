/** A fleet's log for readers of its past: never creates or changes a stream. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import { type AcceptedGaps, nothingAccepted } from './accepted-gaps.ts';
import type { EventLog } from './event-log.ts';
import { inspectLog, type LogIdentity } from './log-continuity.ts';
import { readHistory } from './log-history.ts';
import { parseLogNote } from './log-note.ts';
import { readNewest } from './log-range.ts';
import { deadName } from './log-streams.ts';

export type StoredLog = Pick<EventLog, 'range' | 'history' | 'newest'> & {
  /** The service folds what is left. */
  readonly accepted: AcceptedGaps;
};

/** @throws AppError log.unavailable, log.lost */
export async function openStoredLog(nc: NatsConnection, fleet: string): Promise<StoredLog> {
  const stream = `STOPGATE_${fleet}`;
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const { created } = await manager.streams.info(stream).catch((cause: Error) => {
    throw new AppError('log.unavailable', `the log ${stream} does not answer: ${cause.message}`, { cause });
  });
  const note = await manager.streams.info(deadName(fleet)).then(
    ({ config }) => parseLogNote(config.description ?? ''),
    () => null,
  );
  // What is missing at its beginning is for its readers to see.
  const any: AcceptedGaps = { toSeq: Number.POSITIVE_INFINITY, beginSeq: Number.POSITIVE_INFINITY };
  const identity: LogIdentity = { stream, created, accepted: any, findCoveredTo: async () => 0 };
  return {
    accepted: note?.created === created ? note.accepted : nothingAccepted,
    async range() {
      const info = await inspectLog(manager, identity, null);
      if (info instanceof AppError) throw info;
      const { first_seq: firstSeq, last_seq: lastSeq, first_ts, last_ts } = info.state;
      return { firstSeq, lastSeq, firstMs: Date.parse(first_ts), lastMs: Date.parse(last_ts) };
    },
    history: (of, onMessage) => readHistory(nc, stream, of, onMessage),
    newest: (subject, count, before) => readNewest(nc, stream, subject, count, before ?? undefined),
  };
}
