/** The last attempts of a worker: loaded when it is opened, and again when another was decided. */
import { useEffect, useState } from 'preact/hooks';
import type { AttemptRecord } from '../../messages.ts';
import { get } from '../data/api.ts';
import { route } from '../route.ts';

/** Enough to see three turns of a circle of two. */
export const attemptsShown = 6;

/** @param version differs when there may be another one @returns newest first; null: not loaded yet */
export function useAttempts(worker: string, version: unknown): readonly AttemptRecord[] | null {
  const [loaded, setLoaded] = useState<readonly AttemptRecord[] | null>(null);
  const { at } = route.value;
  useEffect(() => {
    const given = new AbortController();
    const before = at === null ? '' : `&before=${at + 1}`;
    get<{ attempts: AttemptRecord[] }>(`attempts/${worker}?limit=${attemptsShown}${before}`, given.signal).then(
      ({ attempts }) => setLoaded(attempts),
      () => {},
    );
    return () => given.abort();
  }, [worker, version, at]);
  return loaded;
}
