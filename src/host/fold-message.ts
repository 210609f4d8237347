/** One message of the log, folded: the same for the live fleet and for one of the past. */
import {
  type Entry,
  type Fleet,
  foldEntry,
  isId,
  type Outcome,
  type Refusal,
  readEntry,
} from '../../machines/index.ts';
import type { LogMessage } from '../nats/log-reader.ts';

const decoder = new TextDecoder();

/** `read` null: the service's own output. Neither that nor a refusal changes anything. */
export type Folded = { readonly read: Entry | Refusal | null; readonly outcomes: readonly Outcome[] };

export function foldMessage(fleet: Fleet, message: LogMessage): Folded {
  const entry = readEntry(message.subject, decoder.decode(message.data), message.data.length);
  if (entry === null || !('data' in entry)) return { read: entry, outcomes: [] };
  const isOwned = entry.type === 'stop.attempted' || entry.type === 'iteration.validated';
  const named = isOwned ? (message.header('Stopgate-Replica') ?? null) : null;
  const owner = named !== null && isId(named) ? named : null;
  return { read: entry, outcomes: foldEntry(fleet, { seq: message.seq, atMs: message.atMs, entry, owner }) };
}
