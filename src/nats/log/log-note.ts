/**
 * A note records a log outside of it, in the description of the fleet's dead stream: a start compares it with the log
 * that it finds. It is a sentence, because people read it in `nats stream info`.
 */
import { formatIsoTime, parseIsoTime } from '../../../machines/index.ts';
import type { LogPosition } from './log-reader.ts';

/**
 * The gaps that a person has accepted in a log with `--accept-empty-log` (protocol.md §2). It does not cover later
 * losses.
 */

export type AcceptedGaps = {
  /** Entries up to here may be missing between others. 0: none may. */
  readonly toSeq: number;
  /** The log may begin here, though no snapshot covers what came before. 1: it may not. */
  readonly beginSeq: number;
};

export const nothingAccepted: AcceptedGaps = { toSeq: 0, beginSeq: 1 };

/**
 * Tells whether the entries from `fromSeq` to the one before `nextSeq` may be missing, in a log whose first entry is
 * `firstSeq` by now: what retention has removed in the meantime looks like a gap that was accepted.
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

/** An entry, with enough about it to recognise its log. */
export type LogMark = Omit<LogPosition, 'subject'>;

export type LogNote = {
  /** The first entry of the log when it was noted for the first time: any backup of the log has it, too. Null: no note yet. */
  readonly begun: LogMark | null;
  readonly accepted: AcceptedGaps;
  /** The last entry that a replica had folded when it last noted it. Null: none. */
  readonly folded: LogMark | null;
};

export const nothingNoted: LogNote = { begun: null, accepted: nothingAccepted, folded: null };

export function formatLogNote(fleet: string, { begun, accepted, folded }: LogNote): string {
  const { toSeq, beginSeq } = accepted;
  const begin = begun === null ? '' : `; its log began with ${formatMark(begun)}`;
  const gaps = toSeq === 0 ? '' : `; gaps accepted up to entry ${toSeq}, and a beginning at entry ${beginSeq}`;
  const end = folded === null ? '' : `; folded up to ${formatMark(folded)}`;
  return `stopgate: refused entries of fleet ${fleet}${begin}${gaps}${end}`;
}

const formatMark = ({ seq, atMs, digest }: LogMark): string =>
  `entry ${seq} of ${formatIsoTime(atMs)} (sha256 ${digest})`;

/** A description that is not ours notes nothing. */
export const parseLogNote = (description: string): LogNote => ({
  begun: parseMark(description, 'began with'),
  accepted: parseAccepted(description),
  folded: parseMark(description, 'folded up to'),
});

function parseMark(description: string, what: string): LogMark | null {
  const mark = new RegExp(`${what} entry (\\d+) of (\\S+) \\(sha256 ([0-9a-f]{64})\\)`).exec(description);
  const atMs = parseIsoTime(mark?.[2] ?? '');
  return mark === null || atMs === null ? null : { seq: Number(mark[1]), atMs, digest: mark[3] as string };
}

function parseAccepted(description: string): AcceptedGaps {
  const [, to, begin] = /gaps accepted up to entry (\d+), and a beginning at entry (\d+)/.exec(description) ?? [];
  return to === undefined ? nothingAccepted : { toSeq: Number(to), beginSeq: Number(begin) };
}
