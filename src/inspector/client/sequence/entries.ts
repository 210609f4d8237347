/** Loads the entries of a worker, its relatives and its tasks. */
import { useEffect, useState } from 'preact/hooks';
import type { TimelineEntry, TimelinePage } from '../../messages.ts';
import { ApiError, get } from '../data/api.ts';
import { shownFleet } from '../data/past.ts';
import { relativesOf } from './family.tsx';

/** Maximum number of entries drawn. The timeline has the rest. */
const entriesMax = 250;
const othersMax = 12;
const entriesEach = 60;

type Loaded = { readonly entries: readonly TimelineEntry[]; readonly isCut: boolean };

/** @param seq the newest entry to show, or null for the present @param version reloads the entries when it changes */
export function useEntries(id: string, seq: number | null, version: unknown) {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let isWanted = true;
    readAll(id, seq).then(
      (all) => {
        if (!isWanted) return;
        setLoaded(all);
        setProblem(null);
      },
      (error: Error) => isWanted && setProblem(error.message),
    );
    return () => {
      isWanted = false;
    };
  }, [id, seq, version]);
  return { loaded, problem };
}

async function readAll(id: string, atSeq: number | null): Promise<Loaded> {
  const before = atSeq === null ? '' : `&before=${atSeq + 1}`;
  const read = (entity: string, name: string, limit: number) =>
    get<TimelinePage>(`timeline/${entity}/${name}?limit=${limit}${before}`);
  const own = await read('worker', id, entriesMax);
  const tasks = own.entries
    .map(({ data }) => (data as { task?: unknown }).task)
    .filter((task) => typeof task === 'string');
  const others = [
    ...relativesOf(shownFleet.peek().workers, id).map((name) => ['worker', name] as const),
    ...[...new Set(tasks)].map((name) => ['task', name] as const),
  ].slice(0, othersMax);
  const pages = await Promise.all(
    others.map(([entity, name]) =>
      read(entity, name, entriesEach).catch((error) => {
        // The task may never have been created, or may be forgotten by now.
        if (error instanceof ApiError && error.status === 404) return { entries: [], before: null };
        throw error;
      }),
    ),
  );
  const firstSeq = own.before === null ? 0 : (own.entries[0]?.seq ?? 0);
  const entries = [own, ...pages].flatMap((page) => page.entries).filter(({ seq }) => seq >= firstSeq);
  return { entries, isCut: own.before !== null };
}
