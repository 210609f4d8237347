/**
 * Recognises a log by the entries that were noted of it, when it is opened (protocol.md §2). The server's own time of
 * creation says nothing: some servers keep it when a backup is restored, others do not.
 */
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { formatIsoTime } from '../../../machines/index.ts';
import type { Logger } from '../../log.ts';
import { readPosition } from './log-continuity.ts';
import { formatLogNote, type LogMark, type LogNote, parseLogNote } from './log-note.ts';
import type { LogPosition } from './log-reader.ts';
import { deadName, infoOf, logName } from './stream-info.ts';

/** `wentBack`: it is the noted one, but no longer has the entry that was folded last. `other`: it was created again. */
export type Recognised = 'same' | 'wentBack' | 'other';

/**
 * Compares a log with its note. Entries that the log no longer has cannot be compared; whether a snapshot of this log
 * covers it is asked afterwards, as for any log that was cut. @throws what NATS throws
 */
export async function recogniseLog(
  manager: JetStreamManager,
  { config, state }: Pick<StreamInfo, 'config' | 'state'>,
  { begun, folded }: LogNote,
): Promise<Recognised> {
  const stands = async (mark: LogMark | null) =>
    mark === null || mark.seq < state.first_seq ? null : standsIn(manager, config.name, mark);
  const isFoldedThere = await stands(folded);
  if (isFoldedThere === true) return 'same';
  if ((await stands(begun)) === false) return 'other';
  return isFoldedThere === null ? 'same' : 'wentBack';
}

async function standsIn(manager: JetStreamManager, stream: string, { seq, atMs, digest }: LogMark): Promise<boolean> {
  const found = await readPosition(manager, stream, seq);
  return found !== null && found.atMs === atMs && found.digest === digest;
}

/** Says what is known of the entries that are gone. */
export function warnOfLoss({ config, state }: StreamInfo, { folded }: LogNote, log: Logger): void {
  if (folded === null) return;
  const known = { stream: config.name, foldedSeq: folded.seq, foldedAt: formatIsoTime(folded.atMs) };
  const hint = 'acknowledged entries are gone; the remaining log is folded from the beginning';
  if (state.last_seq < folded.seq)
    log.warn({ ...known, lastSeq: state.last_seq, lastAt: state.last_ts }, `the log went back: ${hint}`);
  else log.warn({ ...known, lastSeq: state.last_seq }, `the log went back, and was written to since: ${hint}`);
}

/** Remembers how far the log was folded, for the next start; of a log that does not have that entry, nothing. @throws what NATS throws */
export async function noteFolded(manager: JetStreamManager, fleet: string, position: LogPosition): Promise<void> {
  const dead = await infoOf(manager, deadName(fleet));
  const note = parseLogNote(dead?.config.description ?? '');
  if (dead === null || (note.folded?.seq ?? 0) >= position.seq) return;
  if (!(await standsIn(manager, logName(fleet), position))) return;
  const begun = note.begun ?? (await readFirst(manager, logName(fleet)));
  const { seq, atMs, digest } = position;
  const description = formatLogNote(fleet, { ...note, begun, folded: { seq, atMs, digest } });
  await manager.streams.update(deadName(fleet), { ...dead.config, description });
}

async function readFirst(manager: JetStreamManager, stream: string): Promise<LogMark | null> {
  const { state } = await manager.streams.info(stream);
  return readPosition(manager, stream, state.first_seq);
}
