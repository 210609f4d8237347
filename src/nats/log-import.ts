/**
 * Imports a complete log into a fleet that has none. Entries refer to others by number, so each must keep its number:
 * the server refuses an entry that would get another one. Its time is that of the import.
 */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { openLogStreams } from './log-streams.ts';

export type ImportedEntry = { readonly seq: number; readonly subject: string; readonly payload: string };
export type LogImport = {
  /** The entries follow each other from 1 on. @throws AppError log.unavailable: not stored */
  append(entries: readonly ImportedEntry[]): Promise<void>;
};

/** How many entries are sent without an acknowledgement: 18 MB at most. */
const pendingMax = 256;
const timeoutMs = 10_000;

/** Creates the log as a service would. @throws AppError entry.refused: there is one with entries; stream.foreign, log.lost */
export async function openLogImport(nc: NatsConnection, fleet: string, log: Logger): Promise<LogImport> {
  const manager = await jetstreamManager(nc, { timeout: timeoutMs });
  const { info } = await openLogStreams(manager, {
    fleet,
    replicas: 1,
    acceptEmptyLog: false,
    hasStart: async () => false,
    log,
  });
  const { last_seq: lastSeq } = info.state;
  if (lastSeq > 0) {
    const hint =
      'import into a NATS server where it has none yet, and start its service only when the import has ended';
    throw new AppError('entry.refused', `fleet '${fleet}' has a log already, of ${lastSeq} entries; ${hint}`);
  }
  const js = jetstream(nc, { timeout: timeoutMs });
  const store = async ({ seq, subject, payload }: ImportedEntry) => {
    const h = headers();
    h.set('Nats-Expected-Last-Sequence', String(seq - 1));
    try {
      const { stream, seq: stored } = await js.publish(subject, payload, { headers: h });
      // Anybody who listens to the subject can answer.
      if (stream !== info.config.name || stored !== seq)
        throw new Error(`entry ${stored} of the stream ${stream} was acknowledged`);
    } catch (cause) {
      const why = `entry ${seq} was not stored: ${(cause as Error).message}`;
      throw new AppError('log.unavailable', `${why}; delete the streams of fleet '${fleet}' before you try again`, {
        cause,
      });
    }
  };
  return {
    async append(entries) {
      for (let at = 0; at < entries.length; at += pendingMax)
        await Promise.all(entries.slice(at, at + pendingMax).map(store));
    },
  };
}
