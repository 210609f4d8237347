/**
 * What is remembered of a log outside of it, in the description of the fleet's dead stream: a start compares it with the
 * log that it finds. It is a sentence, because people read it in `nats stream info`.
 */
import { formatIsoTime, parseIsoTime } from '../../machines/index.ts';

export type LogNote = {
  readonly created: string;
  /** 0: nothing may be missing. */
  readonly gapsAcceptedTo: number;
  /** The last entry that a replica had folded when it last noted it. Null: none. */
  readonly folded: { readonly seq: number; readonly atMs: number } | null;
};

export function formatLogNote(fleet: string, { created, gapsAcceptedTo, folded }: LogNote): string {
  const gaps = gapsAcceptedTo === 0 ? '' : `; gaps accepted up to entry ${gapsAcceptedTo}`;
  const end = folded === null ? '' : `; folded up to entry ${folded.seq} of ${formatIsoTime(folded.atMs)}`;
  return `stopgate: refused entries of fleet ${fleet}; its log was created at ${created}${gaps}${end}`;
}

/** A description that is none of ours gives a log that was created never. */
export function parseLogNote(description: string): LogNote {
  const created = /log was created at ([^;\s]+)/.exec(description)?.[1] ?? '';
  const gaps = /gaps accepted up to entry (\d+)/.exec(description)?.[1];
  const [, seq, at] = /folded up to entry (\d+) of ([^;\s]+)/.exec(description) ?? [];
  const atMs = at === undefined ? null : parseIsoTime(at);
  return {
    ...{ created, gapsAcceptedTo: Number(gaps ?? 0) },
    folded: seq === undefined || atMs === null ? null : { seq: Number(seq), atMs },
  };
}
