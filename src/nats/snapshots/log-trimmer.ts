/**
 * Removes the beginning of a log (protocol.md §15). The caller must know that a snapshot covers the removed entries.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '../connection.ts';
import { openLogRange } from '../log-range.ts';
import type { LogMessage } from '../log-reader.ts';

/** `firstMs`: when its first entry was stored; `bytes`: of all entries as they are stored. */
export type LogSize = { readonly firstSeq: number; readonly firstMs: number; readonly bytes: number };

export type LogTrimmer = {
  /** @throws what NATS throws */
  size(): Promise<LogSize>;
  /** From `seq` on, in order; it may be left early. @throws AppError log.unavailable */
  read(seq: number): AsyncIterable<readonly LogMessage[]>;
  /** Removes all that stands before `seq`. @throws what NATS throws */
  cutBefore(seq: number): Promise<void>;
};

export function createLogTrimmer(nc: NatsConnection, fleet: string): LogTrimmer {
  const stream = `STOPGATE_${fleet}`;
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
