/**
 * Recognises a log at startup by the entries recorded in its note (protocol.md §2), and updates the note. The stream's
 * creation time proves nothing: some server versions keep it when a backup is restored, others do not.
 */
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { formatIsoTime } from '../../../machines/index.ts';
import type { Logger } from '../../log.ts';
import { readPosition } from './log-continuity.ts';
import { formatLogNote, isMarked, type LogMark, type LogNote, parseLogNote } from './log-note.ts';
import type { LogPosition } from './log-reader.ts';
import { deadName, infoOf, logName } from './stream-info.ts';

/** `wentBack`: the same log without the last folded entry. `other`: the log was created again. */
type Recognised = 'same' | 'wentBack' | 'other';

/**
 * Compares a log with its note. Entries that retention removed cannot be compared; a later check asks whether a
 * snapshot covers them, as for any trimmed log.
 * @throws NATS errors
 */
export async function recogniseLog(
  manager: JetStreamManager,
  stream: string,
  { begun, folded }: LogNote,
): Promise<Recognised> {
  const hasFolded = await compareMark(manager, stream, folded);
  if (hasFolded === true) return 'same';
  if ((await compareMark(manager, stream, begun)) === false) return 'other';
  return hasFolded === null ? 'same' : 'wentBack';
}

/**
 * Tells whether the log has this entry; null if that is unknown, because retention removed it. Reads the first sequence
 * after the entry: another replica may trim the log in between.
 */
async function compareMark(manager: JetStreamManager, stream: string, mark: LogMark | null): Promise<boolean | null> {
  if (mark === null) return null;
  const found = await readPosition(manager, stream, mark.seq);
  if (found !== null) return isMarked(found, mark);
  const { state } = await manager.streams.info(stream);
  return mark.seq < state.first_seq ? null : false;
}

/** Warns that acknowledged entries are gone. */
export function warnOfLoss({ config, state }: StreamInfo, { folded }: LogNote, log: Logger): void {
  if (folded === null) return;
  const known = { stream: config.name, foldedSeq: folded.seq, foldedAt: formatIsoTime(folded.atMs) };
  const hint = 'acknowledged entries are gone; the remaining log is folded from the beginning';
  if (state.last_seq < folded.seq)
    log.warn({ ...known, lastSeq: state.last_seq, lastAt: state.last_ts }, `the log went back: ${hint}`);
  else log.warn({ ...known, lastSeq: state.last_seq }, `the log went back, and has new entries since: ${hint}`);
}

/**
 * Records how far the log is folded, for the next start. Does nothing if the log lacks that entry.
 * @throws NATS errors
 */
export async function noteFolded(manager: JetStreamManager, fleet: string, position: LogPosition): Promise<void> {
  const dead = await infoOf(manager, deadName(fleet));
  const note = parseLogNote(dead?.config.description ?? '');
  if (dead === null || (note.folded?.seq ?? 0) >= position.seq) return;
  const found = await readPosition(manager, logName(fleet), position.seq);
  if (found === null || !isMarked(found, position)) return;
  const begun = note.begun ?? (await readFirst(manager, logName(fleet)));
  const { seq, atMs, digest } = position;
  const description = formatLogNote(fleet, { ...note, begun, folded: { seq, atMs, digest } });
  await manager.streams.update(deadName(fleet), { ...dead.config, description });
}

async function readFirst(manager: JetStreamManager, stream: string): Promise<LogMark | null> {
  const { state } = await manager.streams.info(stream);
  return readPosition(manager, stream, state.first_seq);
}
