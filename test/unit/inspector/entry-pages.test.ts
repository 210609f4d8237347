/** Joined pages of entries have no gaps. */
import { expect, test } from 'vitest';
import { addPage, type EntryPages, noEntries } from '../../../src/inspector/client/data/entry-pages.ts';

const page = (seqs: readonly number[], before: number | null): EntryPages => ({
  entries: seqs.map((seq) => ({ seq }) as EntryPages['entries'][number]),
  before,
});
const shown = ({ entries, before }: EntryPages) => [entries.map(({ seq }) => seq), before];

test.each([
  ['the first page', noEntries, page([7, 8], 7), [[7, 8], 7]],
  ['an older page', page([7, 8], 7), page([3, 4], 3), [[3, 4, 7, 8], 3]],
  ['the oldest page', page([7, 8], 7), page([3, 4], null), [[3, 4, 7, 8], null]],
  ['an older page in which nothing fits', page([7, 8], 7), page([], 2), [[7, 8], 2]],
  ['a newer page that overlaps', page([3, 4, 7], 3), page([7, 9], 7), [[3, 4, 7, 9], 3]],
  ['what is new, from the stream', page([3, 4], null), page([5], null), [[3, 4, 5], null]],
  ['a newer page with entries between', page([3, 4], 3), page([8, 9], 8), [[8, 9], 8]],
  ['more than are kept', page([3, 4, 5], null), page([5, 6, 7], 5), [[4, 5, 6, 7], 4]],
])('%s', (_what, known, added, expected) => expect(shown(addPage(known, added, 4))).toEqual(expected));
