/** Entries loaded in pages and extended by new ones, oldest first and without gaps. Pure. */
import type { TimelineEntry } from '../../messages.ts';
import { plural } from '../ui/format.ts';

/** `before` is where the next older page ends, or null if there is none. */
export type EntryPages = { readonly entries: readonly TimelineEntry[]; readonly before: number | null };
export const noEntries: EntryPages = { entries: [], before: null };

/**
 * Adds a page. If it does not connect to the known entries, drops those, because a gap would look like silence.
 * @param entriesMax maximum number to keep; the oldest are dropped and can be loaded again
 */
export function addPage(known: EntryPages, page: EntryPages, entriesMax: number): EntryPages {
  if (known.entries.length === 0 || isApart(known, page)) return page;
  const bySeq = new Map([...known.entries, ...page.entries].map((entry) => [entry.seq, entry]));
  const all = [...bySeq.values()].sort((a, b) => a.seq - b.seq);
  const entries = all.slice(-entriesMax);
  const [first] = entries;
  if (entries.length < all.length && first !== undefined) return { entries, before: first.seq };
  return { entries, before: earlier(known.before, page.before) };
}

/**
 * The line below the oldest entry. Timers and replicas that join are in the log, and not in lists: a count without that
 * would not be the log's.
 */
export const endText = (listed: number): string =>
  `That is all: ${plural(listed, 'entry', 'entries')} listed. Timers and joining replicas are not.`;

const isApart = ({ entries: known }: EntryPages, { entries: [first], before }: EntryPages): boolean =>
  before !== null && first !== undefined && first.seq > (known.at(-1)?.seq ?? first.seq);

const earlier = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : Math.min(one, other);
