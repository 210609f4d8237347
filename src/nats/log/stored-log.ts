/** Reads the history of a fleet's log without changing its streams. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../../errors.ts';
import type { EventLog } from './event-log.ts';
import { inspectLog, type LogIdentity, readPosition } from './log-continuity.ts';
import { readHistory } from './log-history.ts';
import { type AcceptedGaps, nothingAccepted, nothingNoted, parseLogNote } from './log-note.ts';
import { readNewest } from './log-range.ts';
import { recogniseLog } from './recognise-log.ts';
import { deadName, infoOf, logName } from './stream-info.ts';

export type StoredLog = Pick<EventLog, 'range' | 'history' | 'newest'> & {
  /** Gaps that the service skips when it folds this log. */
  readonly accepted: AcceptedGaps;
};

/** @throws AppError log.unavailable, log.lost */
export async function openStoredLog(nc: NatsConnection, fleet: string): Promise<StoredLog> {
  const stream = logName(fleet);
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const unavailable = (cause: Error) => {
    throw new AppError('log.unavailable', `the log ${stream} does not answer: ${cause.message}`, { cause });
  };
  const info = await manager.streams.info(stream).catch(unavailable);
  const note = await infoOf(manager, deadName(fleet)).then(
    (dead) => parseLogNote(dead?.config.description ?? ''),
    () => nothingNoted,
  );
  const isNoted = (await recogniseLog(manager, stream, note).catch(unavailable)) !== 'other';
  // The newest entry tells a log that is restored later from one that is created again.
  const { last_seq: newestSeq } = info.state;
  const newest = newestSeq === 0 ? null : await readPosition(manager, stream, newestSeq).catch(unavailable);
  // Gaps are accepted here; readers notice them themselves.
  const any: AcceptedGaps = { toSeq: Number.POSITIVE_INFINITY, beginSeq: Number.POSITIVE_INFINITY };
  const identity: LogIdentity = { stream, created: info.created, accepted: any, findCoveredTo: async () => 0 };
  return {
    accepted: isNoted ? note.accepted : nothingAccepted,
    async range() {
      const found = await inspectLog(manager, identity, newest);
      if (found instanceof AppError) throw found;
      const { first_seq: firstSeq, last_seq: lastSeq, first_ts, last_ts } = found.state;
      return { firstSeq, lastSeq, firstMs: Date.parse(first_ts), lastMs: Date.parse(last_ts) };
    },
    history: (of, onMessage) => readHistory(nc, stream, of, onMessage),
    newest: (subject, count, before) => readNewest(nc, stream, subject, count, before ?? undefined),
  };
}
