/** The entries of one actor: read in pages, and extended by the stream while they are shown. */
import { useEffect, useState } from 'preact/hooks';
import type { TimelineEntry, TimelinePage } from '../../messages.ts';
import { get } from '../data/api.ts';
import { focus } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { route } from '../route.ts';

const pageSize = 60;
const entriesMax = 3_000;

/** Oldest first. `before`: where the next page ends; null: there is none. */
type Loaded = {
  readonly entries: readonly TimelineEntry[];
  readonly before: number | null;
  readonly problem: string | null;
};
const nothing: Loaded = { entries: [], before: null, problem: null };

export function useTimeline(entity: 'worker' | 'task', id: string) {
  const [loaded, setLoaded] = useState<Loaded>(nothing);
  const [busy, setBusy] = useState(false);
  const at = route.value.at;
  const load = async (before: number | null) => {
    setBusy(true);
    try {
      const page = await get<TimelinePage>(
        `timeline/${entity}/${id}?limit=${pageSize}${before === null ? '' : `&before=${before}`}`,
      );
      setLoaded((old) => (isApart(old, page) ? { ...page, problem: null } : merge(old, page.entries, page.before)));
    } catch (error) {
      setLoaded((old) => ({ ...old, problem: (error as Error).message }));
    }
    setBusy(false);
  };
  useEffect(() => {
    setLoaded(nothing);
    void load(at === null ? null : at + 1);
  }, [entity, id, at === null]);
  useEffect(() => {
    const oldest = loaded.entries[0]?.seq;
    // Time travel went back beyond the loaded entries.
    if (at !== null && !busy && loaded.before !== null && oldest !== undefined && at < oldest) void load(at + 1);
  }, [at]);
  useEffect(
    () =>
      focus.subscribe((update) => {
        if (update === null || update.id !== id || isPast.peek()) return;
        if (update.omitted > 0) void load(null);
        else if (update.entries.length > 0) setLoaded((old) => merge(old, update.entries, old.before));
      }),
    [entity, id],
  );
  return {
    entries: at === null ? loaded.entries : loaded.entries.filter((it) => it.seq <= at),
    hasOlder: loaded.before !== null,
    problem: loaded.problem,
    busy,
    loadOlder: () => void load(loaded.before),
  };
}

/** More came than fit a page: what lies between is read when somebody asks for older entries. */
const isApart = ({ entries: old }: Loaded, { entries: [first], before }: TimelinePage): boolean =>
  before !== null && first !== undefined && first.seq > (old.at(-1)?.seq ?? first.seq);

function merge({ entries: old }: Loaded, added: readonly TimelineEntry[], before: number | null): Loaded {
  const bySeq = new Map(old.map((it) => [it.seq, it]));
  for (const it of added) bySeq.set(it.seq, it);
  const entries = [...bySeq.values()].sort((a, b) => a.seq - b.seq);
  return { entries: entries.slice(-entriesMax), before, problem: null };
}
