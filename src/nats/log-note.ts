/**
 * What is recorded about a log outside of it, in the description of the fleet's dead stream: a start compares it with
 * the log that it finds. It is a sentence, because people read it in `nats stream info`.
 */
import { formatIsoTime, parseIsoTime } from '../../machines/index.ts';
import { type AcceptedGaps, nothingAccepted } from './accepted-gaps.ts';

export type LogNote = {
  readonly created: string;
  readonly accepted: AcceptedGaps;
  /** The last entry that a replica had folded when it last noted it. Null: none. */
  readonly folded: { readonly seq: number; readonly atMs: number } | null;
};

export function formatLogNote(fleet: string, { created, accepted, folded }: LogNote): string {
  const { toSeq, beginSeq } = accepted;
  const gaps = toSeq === 0 ? '' : `; gaps accepted up to entry ${toSeq}, and a beginning at entry ${beginSeq}`;
  const end = folded === null ? '' : `; folded up to entry ${folded.seq} of ${formatIsoTime(folded.atMs)}`;
  return `stopgate: refused entries of fleet ${fleet}; its log was created at ${created}${gaps}${end}`;
}

/** A description that is not ours gives a note with an empty `created`, which no log has. */
export function parseLogNote(description: string): LogNote {
  const created = /log was created at ([^;\s]+)/.exec(description)?.[1] ?? '';
  const [, seq, at] = /folded up to entry (\d+) of ([^;\s]+)/.exec(description) ?? [];
  const atMs = at === undefined ? null : parseIsoTime(at);
  return {
    ...{ created, accepted: parseAccepted(description) },
    folded: seq === undefined || atMs === null ? null : { seq: Number(seq), atMs },
  };
}

function parseAccepted(description: string): AcceptedGaps {
  const [, to, begin] = /gaps accepted up to entry (\d+)(?:, and a beginning at entry (\d+))?/.exec(description) ?? [];
  if (to === undefined) return nothingAccepted;
  // A release that did not tell them apart accepted any beginning among these entries.
  return { toSeq: Number(to), beginSeq: Number(begin ?? Number(to) + 1) };
}
