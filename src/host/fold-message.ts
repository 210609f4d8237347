/** One message of the log, folded: the same for the live fleet and for one of the past. */
import { type Entry, type Fleet, foldEntry, isId, type Refusal, readEntry } from '../../machines/index.ts';
import type { LogMessage } from '../nats/log-reader.ts';

const decoder = new TextDecoder();

/** @returns what it was: an entry, which is folded; a refusal, which changes nothing; null: the service's own output */
export function foldMessage(fleet: Fleet, message: LogMessage): Entry | Refusal | null {
  const entry = readEntry(message.subject, decoder.decode(message.data), message.data.length);
  if (entry === null || !('data' in entry)) return entry;
  const isOwned = entry.type === 'stop.attempted' || entry.type === 'iteration.validated';
  const named = isOwned ? (message.header('Stopgate-Replica') ?? null) : null;
  const owner = named !== null && isId(named) ? named : null;
  foldEntry(fleet, { seq: message.seq, atMs: message.atMs, entry, owner });
  return entry;
}
