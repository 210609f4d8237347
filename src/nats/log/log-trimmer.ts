/**
 * Removes the beginning of a log. The caller must ensure that a snapshot covers the removed entries:
 * `host/maintenance/log-retention.ts` decides when, and up to which entry.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '../connection.ts';
import { openLogRange } from './log-range.ts';
import type { LogMessage } from './log-reader.ts';
import { logName } from './stream-info.ts';

/** `firstMs`: when the first entry was stored. `bytes`: the stored size of all entries. */
export type LogSize = { readonly firstSeq: number; readonly firstMs: number; readonly bytes: number };

export type LogTrimmer = {
  /** @throws errors of NATS */
  size(): Promise<LogSize>;
  /** Reads from `seq` on, in order. The caller may stop early. @throws AppError log.unavailable */
  read(seq: number): AsyncIterable<readonly LogMessage[]>;
  /** Removes all entries before `seq`. @throws errors of NATS */
  cutBefore(seq: number): Promise<void>;
};

export function createLogTrimmer(nc: NatsConnection, fleet: string): LogTrimmer {
  const stream = logName(fleet);
  const open = () => jetstreamManager(nc, { checkAPI: false });
  return {
    async size() {
      const { state } = await (await open()).streams.info(stream);
      return { firstSeq: state.first_seq, firstMs: Date.parse(state.first_ts), bytes: state.bytes };
    },
    async *read(fromSeq) {
      yield* (await openLogRange(nc, stream, { fromSeq })).batches;
    },
    async cutBefore(seq) {
      await (await open()).streams.purge(stream, { seq });
    },
  };
}
