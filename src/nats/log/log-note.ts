/**
 * The log note: identifies the log and says how far it is folded. It is stored in the description of the dead-letter
 * stream, so a start can compare it with the log it finds. It is short, because `nats stream ls` shows it in a column.
 */
import { formatIsoTime, parseIsoTime } from '../../../machines/index.ts';
import type { LogPosition } from './log-reader.ts';

/** The gaps that a person accepted with `--accept-empty-log` (protocol.md §2). Later losses are not covered. */
export type AcceptedGaps = {
  /** Gaps between entries are accepted up to this sequence. 0 if none are. */
  readonly toSeq: number;
  /** The log may begin at this sequence without a snapshot. 1 means that it must be complete. */
  readonly beginSeq: number;
};

export const nothingAccepted: AcceptedGaps = { toSeq: 0, beginSeq: 1 };

/**
 * Tells whether entries `fromSeq` to `nextSeq - 1` may be missing. `firstSeq` is the current first sequence of the log:
 * a gap at the beginning was made by retention, so only `beginSeq` applies there.
 */
export function isGapAccepted(
  { toSeq, beginSeq }: AcceptedGaps,
  fromSeq: number,
  nextSeq: number,
  firstSeq: number,
): boolean {
  const isAtBeginning = firstSeq >= fromSeq;
  return nextSeq <= (isAtBeginning ? beginSeq : toSeq + 1);
}

/**
 * Identifies an entry well enough to recognise its log. `digest`: at least the first 16 hex digits of the payload's.
 */
export type LogMark = Omit<LogPosition, 'subject'>;

export const isMarked = (found: LogPosition, { atMs, digest }: LogMark): boolean =>
  found.atMs === atMs && found.digest.startsWith(digest);

export type LogNote = {
  /** The log's first entry at the first note; every backup of the log contains it. Null before the first note. */
  readonly begun: LogMark | null;
  readonly accepted: AcceptedGaps;
  /** The last entry folded by a replica at the last note. Null if there is none. */
  readonly folded: LogMark | null;
};

export const nothingNoted: LogNote = { begun: null, accepted: nothingAccepted, folded: null };

export function formatLogNote(fleet: string, { begun, accepted, folded }: LogNote): string {
  const { toSeq, beginSeq } = accepted;
  const begin = begun === null ? '' : `; from ${formatMark(begun)}`;
  const gaps = toSeq === 0 ? '' : `; gaps to ${toSeq}, begin ${beginSeq}`;
  const end = folded === null ? '' : `; to ${formatMark(folded)}`;
  return `stopgate: dead letters of ${fleet}${begin}${gaps}${end}`;
}

const markDigits = 16;

const formatMark = ({ seq, atMs, digest }: LogMark): string =>
  `${seq}@${formatIsoTime(atMs)}#${digest.slice(0, markDigits)}`;

/** Returns an empty note for a description that is not ours. */
export const parseLogNote = (description: string): LogNote => ({
  begun: parseMark(description, 'from'),
  accepted: parseAccepted(description),
  folded: parseMark(description, 'to'),
});

function parseMark(description: string, what: string): LogMark | null {
  const mark = new RegExp(`; ${what} (\\d+)@([^#\\s]+)#([0-9a-f]{${markDigits}})`).exec(description);
  const atMs = parseIsoTime(mark?.[2] ?? '');
  return mark === null || atMs === null ? null : { seq: Number(mark[1]), atMs, digest: mark[3] as string };
}

function parseAccepted(description: string): AcceptedGaps {
  const [, to, begin] = /; gaps to (\d+), begin (\d+)/.exec(description) ?? [];
  return to === undefined ? nothingAccepted : { toSeq: Number(to), beginSeq: Number(begin) };
}
