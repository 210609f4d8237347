/**
 * Verifies that a log is still the one that was folded (protocol.md §2). JetStream may lose an unsynced tail, be
 * restored from a backup or be trimmed, and keeps the stream's name in each case.
 */
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { AppError } from '../../errors.ts';
import { type AcceptedGaps, isGapAccepted } from './log-note.ts';
import { type LogPosition, positionOf } from './log-reader.ts';
import { isStreamNotFound } from './stream-info.ts';

/**
 * Returns the last sequence that the newest usable snapshot of this log covers; 0 if there is none. Missing entries up to
 * there were removed by retention and are not lost. A result of at least `wanted` may come from a cache; a lower one is
 * always fresh.
 * @throws NATS errors
 */
export type FindCoveredTo = (wanted: number) => Promise<number>;

/** Identifies the opened log. */
export type LogIdentity = {
  readonly stream: string;
  /**
   * Creation time of the stream, in the server's format. If it changes, the stream was restored or replaced: the last
   * folded entry is compared again, and if it matches, the new time is kept here.
   */
  created: string;
  readonly accepted: AcceptedGaps;
  /** Called only for entries that are missing. */
  readonly findCoveredTo: FindCoveredTo;
};

/** Returns the current stream info, or why this is not the folded log. `folded` is null if nothing was folded. */
export async function inspectLog(
  manager: JetStreamManager,
  identity: LogIdentity,
  folded: LogPosition | null,
): Promise<StreamInfo | AppError> {
  const { stream } = identity;
  try {
    const info = await manager.streams.info(stream);
    const isSameStream = info.created === identity.created;
    const mismatch =
      findTailMismatch(info, identity, folded) ?? (isSameStream ? null : await findMismatch(manager, info, folded));
    if (mismatch !== null) return isSameStream ? mismatch : createdAgain(info, folded);
    const cut = await findCut(info, identity);
    if (cut !== null) return cut;
    identity.created = info.created;
    return info;
  } catch (cause) {
    return toAppError(cause, stream);
  }
}

/** Like `inspectLog`, but always reads back and compares the last folded entry. */
export async function proveLog(
  manager: JetStreamManager,
  identity: LogIdentity,
  folded: LogPosition | null,
): Promise<StreamInfo | AppError> {
  const info = await inspectLog(manager, identity, folded);
  if (info instanceof AppError) return info;
  const mismatch = await findMismatch(manager, info, folded).catch((cause: unknown) =>
    toAppError(cause, identity.stream),
  );
  return mismatch ?? info;
}

async function findMismatch(
  manager: JetStreamManager,
  { config: { name } }: StreamInfo,
  folded: LogPosition | null,
): Promise<AppError | null> {
  if (folded === null) return null;
  const found = await readPosition(manager, name, folded.seq);
  if (found !== null) return isSame(found, folded) ? null : replaced(name, folded);
  // Read after the entry: another replica may have trimmed the log in between.
  const { state } = await manager.streams.info(name);
  // A removed entry cannot be compared, and the replica that removed it may have folded another log.
  return folded.seq < state.first_seq ? removedLastFolded(name, folded.seq) : replaced(name, folded);
}

/** Reads the position of the entry at `seq`, or null if there is none. */
export async function readPosition(
  manager: JetStreamManager,
  stream: string,
  seq: number,
): Promise<LogPosition | null> {
  const found = await manager.streams.getMessage(stream, { seq });
  if (found === null) return null;
  return positionOf({ seq: found.seq, atMs: found.time.getTime(), subject: found.subject, data: found.data });
}

const isSame = (found: LogPosition, folded: LogPosition): boolean =>
  found.atMs === folded.atMs && found.subject === folded.subject && found.digest === folded.digest;

/** Compares the end of the log with the last folded entry, without reading any entry. */
function findTailMismatch({ state }: StreamInfo, { stream }: LogIdentity, folded: LogPosition | null): AppError | null {
  if (folded === null || state.last_seq > folded.seq) return null;
  if (state.last_seq < folded.seq)
    return wentBack(`the log ${stream} ends at entry ${state.last_seq}, and entry ${folded.seq} was folded`);
  return Date.parse(state.last_ts) === folded.atMs ? null : replaced(stream, folded);
}

/** Returns an error if entries at the beginning are missing and no snapshot covers them. */
async function findCut({ state }: StreamInfo, identity: LogIdentity) {
  const { stream, accepted } = identity;
  // `first_seq` of an empty stream is 0 or 1.
  if (state.first_seq <= accepted.beginSeq) return null;
  return (await isCovered(identity, state.first_seq - 1)) ? null : missing(stream, 1, state.first_seq);
}

/** Explains why entries `fromSeq` to `toSeq - 1` are missing. Null if the gap was accepted. */
export async function explainGap(
  manager: JetStreamManager,
  identity: LogIdentity,
  fromSeq: number,
  toSeq: number,
): Promise<AppError | null> {
  const { stream, accepted } = identity;
  try {
    const { state } = await manager.streams.info(stream);
    if (isGapAccepted(accepted, fromSeq, toSeq, state.first_seq)) return null;
    return ((await isCovered(identity, toSeq - 1)) ? removed : missing)(stream, fromSeq, toSeq);
  } catch (cause) {
    return toAppError(cause, stream);
  }
}

/**
 * Tells whether a snapshot covers all entries up to `seq`. @throws AppError log.unavailable if that cannot be
 * determined
 */
async function isCovered({ stream, findCoveredTo }: LogIdentity, seq: number): Promise<boolean> {
  try {
    return (await findCoveredTo(seq)) >= seq;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const message = `cannot determine whether a snapshot covers entry ${seq} of the log ${stream}: ${(cause as Error).message}`;
    throw new AppError('log.unavailable', message, { cause });
  }
}

const entriesOf = (fromSeq: number, toSeq: number) =>
  fromSeq === toSeq - 1 ? `entry ${fromSeq} is` : `entries ${fromSeq} to ${toSeq - 1} are`;

/** Entries `fromSeq` to `toSeq - 1` are missing, and no snapshot covers them. */
const missing = (stream: string, fromSeq: number, toSeq: number): AppError =>
  lost(`the log ${stream} has a gap: ${entriesOf(fromSeq, toSeq)} missing`);

/** A snapshot covers the missing entries: retention removed them before this replica folded them. */
const removed = (stream: string, fromSeq: number, toSeq: number): AppError =>
  new AppError(
    'log.lost',
    `${entriesOf(fromSeq, toSeq)} no longer in the log ${stream}, and this replica has not folded them: it lagged while they were removed behind a snapshot. Nothing is lost: restart it, and it continues from the snapshot`,
  );

/** Retention keeps the last entry that a snapshot covers, so that a start from that snapshot can compare it. */
const removedLastFolded = (stream: string, foldedSeq: number): AppError =>
  new AppError(
    'log.lost',
    `entry ${foldedSeq}, the last that this replica folded, is no longer in the log ${stream}: the replica lagged while the entry was removed behind a snapshot. Nothing is lost: restart it, and it continues from the snapshot`,
  );

const replaced = (stream: string, { seq, subject }: Pick<LogPosition, 'seq' | 'subject'>): AppError =>
  wentBack(`entry ${seq} of the log ${stream} is no longer the one that was folded (${subject})`);

const wentBack = (what: string) =>
  new AppError(
    'log.lost',
    `${what}: the log went back. Restore it, or restart, which folds the remaining log from its beginning`,
  );

const createdAgain = ({ config, created }: StreamInfo, folded: LogPosition | null): AppError =>
  new AppError(
    'log.lost',
    `the log ${config.name} was created again at ${created}, without entry ${folded?.seq}, the last that was folded. If it is an older backup of the log, restart, which folds it from its beginning. If it is another log, restore the old one, or restart with --accept-empty-log`,
  );

export const lost = (what: string): AppError =>
  new AppError('log.lost', `${what}. Restore it, or restart with --accept-empty-log`);

function toAppError(cause: unknown, stream: string): AppError {
  if (cause instanceof AppError) return cause;
  if (isStreamNotFound(cause)) return lost(`the log ${stream} is gone`);
  return new AppError('log.unavailable', `the log ${stream} does not answer: ${(cause as Error).message}`, { cause });
}
