/**
 * Proves that a log is still the one that was folded (protocol.md §2): JetStream may lose an unsynced tail, be restored
 * from a backup or be trimmed, and keeps the stream's name in each case.
 */
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { formatIsoTime } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import {
  type AcceptedGaps,
  formatLogNote,
  isGapAccepted,
  type LogMark,
  type LogNote,
  parseLogNote,
} from './log-note.ts';
import { type LogPosition, positionOf } from './log-reader.ts';
import { deadName, infoOf, isStreamNotFound, logName } from './stream-info.ts';

/**
 * Finds the last entry that the newest snapshot covers. An answer below `wanted` is new; one that reaches it may be some
 * time old. @throws what NATS throws
 */
export type FindCoveredTo = (wanted: number) => Promise<number>;

/** The log as it was opened. */
export type LogIdentity = {
  readonly stream: string;
  /**
   * When it was created, in the server's format. Another time tells of a restored backup or of another log, so what was
   * folded is compared again, and the new time replaces this one.
   */
  created: string;
  readonly accepted: AcceptedGaps;
  /** The last entry that the newest snapshot covers; 0: there is none. Asked where the log begins later than at 1. */
  readonly findCoveredTo: FindCoveredTo;
};

/** The log as it is now, or why it is not the one that was folded. `folded` null: nothing was. */
export async function inspectLog(
  manager: JetStreamManager,
  identity: LogIdentity,
  folded: LogPosition | null,
): Promise<StreamInfo | AppError> {
  const { stream } = identity;
  try {
    const info = await manager.streams.info(stream);
    const isSameStream = info.created === identity.created;
    const other = findBreak(info, identity, folded) ?? (isSameStream ? null : await findOther(manager, info, folded));
    if (other !== null) return isSameStream ? other : createdAgain(info, folded);
    const cut = await findCut(info, identity);
    if (cut !== null) return cut;
    identity.created = info.created;
    return info;
  } catch (cause) {
    return toAppError(cause, stream);
  }
}

/** Like `inspectLog`, and always reads back and compares the entry that was folded last. */
export async function proveLog(
  manager: JetStreamManager,
  identity: LogIdentity,
  folded: LogPosition | null,
): Promise<StreamInfo | AppError> {
  const info = await inspectLog(manager, identity, folded);
  if (info instanceof AppError) return info;
  return (await findOther(manager, info, folded).catch((cause: unknown) => toAppError(cause, identity.stream))) ?? info;
}

async function findOther(
  manager: JetStreamManager,
  { config: { name }, state }: StreamInfo,
  folded: LogPosition | null,
): Promise<AppError | null> {
  if (folded === null) return null;
  // It cannot be compared, and whoever cut the log may have folded another one.
  if (folded.seq < state.first_seq) return cutBehind(name, folded.seq);
  const found = await readPosition(manager, name, folded.seq);
  return found !== null && isSame(found, folded) ? null : replaced(name, folded);
}

/** Resolves to the entry at `seq`, or null. */
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

function findBreak({ state }: StreamInfo, { stream }: LogIdentity, folded: LogPosition | null): AppError | null {
  if (folded === null || state.last_seq > folded.seq) return null;
  if (state.last_seq < folded.seq)
    return wentBack(`the log ${stream} ends at entry ${state.last_seq}, and entry ${folded.seq} was folded`);
  return Date.parse(state.last_ts) === folded.atMs ? null : replaced(stream, folded);
}

/** Entries at its beginning are gone, and no snapshot has them. */
async function findCut({ state }: StreamInfo, identity: LogIdentity) {
  const { stream, accepted } = identity;
  // A stream that was never written to says 0 or 1.
  if (state.first_seq <= accepted.beginSeq) return null;
  return (await isCovered(identity, state.first_seq - 1)) ? null : missing(stream, 1, state.first_seq);
}

/** Says why the entries from `fromSeq` to the one before `toSeq` are not there; null: that was accepted. */
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
    return ((await isCovered(identity, toSeq - 1)) ? cut : missing)(stream, fromSeq, toSeq);
  } catch (cause) {
    return toAppError(cause, stream);
  }
}

/** Tells whether a snapshot has entry `seq` and all before it. @throws AppError log.unavailable: that is not known */
async function isCovered({ stream, findCoveredTo }: LogIdentity, seq: number): Promise<boolean> {
  try {
    return (await findCoveredTo(seq)) >= seq;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const message = `whether a snapshot covers entry ${seq} of the log ${stream} is not known: ${(cause as Error).message}`;
    throw new AppError('log.unavailable', message, { cause });
  }
}

const entriesOf = (fromSeq: number, toSeq: number) =>
  fromSeq === toSeq - 1 ? `entry ${fromSeq} is` : `entries ${fromSeq} to ${toSeq - 1} are`;

/** Entries from `fromSeq` to the one before `toSeq` are not in the log. */
const missing = (stream: string, fromSeq: number, toSeq: number): AppError =>
  lost(`the log ${stream} has a gap: ${entriesOf(fromSeq, toSeq)} missing`);

/** The same, and a snapshot covers them: retention has removed them before they were folded here. */
const cut = (stream: string, fromSeq: number, toSeq: number): AppError =>
  new AppError(
    'log.lost',
    `${entriesOf(fromSeq, toSeq)} no longer in the log ${stream}, and were not folded here: this replica lagged while they were removed behind a snapshot. Nothing is lost: restart it, and it continues from the snapshot`,
  );

/** Retention leaves what a snapshot covers last, so that a start from there can compare it. */
const cutBehind = (stream: string, foldedSeq: number): AppError =>
  new AppError(
    'log.lost',
    `entry ${foldedSeq}, the last that was folded here, is no longer in the log ${stream}: this replica lagged while it was removed behind a snapshot. Nothing is lost: restart it, and it continues from the snapshot`,
  );

const replaced = (stream: string, { seq, subject }: Pick<LogPosition, 'seq' | 'subject'>): AppError =>
  wentBack(`entry ${seq} of the log ${stream} is no longer the one that was folded (${subject})`);

const wentBack = (what: string) =>
  new AppError(
    'log.lost',
    `${what}: it went back. Restore it, or restart, which folds the remaining log from the beginning`,
  );

const createdAgain = ({ config, created }: StreamInfo, folded: LogPosition | null): AppError =>
  new AppError(
    'log.lost',
    `the log ${config.name} was created again at ${created}, without entry ${folded?.seq}, the last that was folded. Restart: an older backup of the log is folded from its beginning, and where it is another log, restore it, or restart with --accept-empty-log`,
  );

export const lost = (what: string): AppError =>
  new AppError('log.lost', `${what}. Restore it, or restart with --accept-empty-log`);

function toAppError(cause: unknown, stream: string): AppError {
  if (cause instanceof AppError) return cause;
  if (isStreamNotFound(cause)) return lost(`the log ${stream} is gone`);
  return new AppError('log.unavailable', `the log ${stream} does not answer: ${(cause as Error).message}`, { cause });
}

// A replicated log that looks lost may not be: for some seconds, a former leader that was cut off from the other nodes
// answers as if it still led, without what was stored since. So such an answer counts only when it has lasted.

/** nats-server notices after 10 s that a leader has lost the others. */
const doubtMs = 15_000;

type Ask = () => Promise<StreamInfo | AppError>;

/**
 * As `ask`; of a replicated log, `log.lost` is `log.unavailable` until nothing else was answered for 15 s,
 * asked about at least that often.
 */
export function confirmLoss(ask: Ask, replicas: number): Ask {
  if (replicas <= 1) return ask;
  let sinceMs: number | null = null;
  let answeredMs = 0;
  return async () => {
    // What was answered in the meantime is not known.
    if (performance.now() - answeredMs > doubtMs) sinceMs = null;
    const found = await ask();
    answeredMs = performance.now();
    if (!(found instanceof AppError)) sinceMs = null;
    if (!(found instanceof AppError) || found.code !== 'log.lost') return found;
    sinceMs ??= performance.now();
    if (performance.now() - sinceMs >= doubtMs) return found;
    const message = `a node of the cluster says that ${found.message}; it may lag, and is asked again`;
    return new AppError('log.unavailable', message, { cause: found });
  };
}

// Recognises a log by the entries that were noted of it, when it is opened (protocol.md §2). The server's own time of
// creation says nothing: some servers keep it when a backup is restored, others do not.

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
