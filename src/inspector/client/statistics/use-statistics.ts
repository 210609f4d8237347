/** The statistics of a span: counted by the service, and again from time to time while they are shown. */
import { useEffect, useState } from 'preact/hooks';
import type { FleetStatistics } from '../../messages.ts';
import { askPatiently, fleet, type Progress } from '../data/api.ts';

export const spans = ['hour', 'day', 'week'] as const;

/** The service only counts what is new. */
const refreshMs = 5_000;

export function useStatistics(span: (typeof spans)[number]) {
  const [statistics, setStatistics] = useState<FleetStatistics | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [cancel, setCancel] = useState<() => void>(() => () => {});
  useEffect(() => {
    if (fleet.value === '') return;
    const asked = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      try {
        if (!document.hidden) {
          setStatistics(
            await askPatiently<FleetStatistics>(`statistics?span=${span}`, undefined, asked.signal, setProgress),
          );
          setProblem(null);
        }
      } catch (error) {
        setProblem(asked.signal.aborted ? 'It was cancelled. Choose a span to count again.' : (error as Error).message);
      }
      setProgress(null);
      if (!asked.signal.aborted) timer = setTimeout(() => void load(), refreshMs);
    };
    setCancel(() => () => asked.abort());
    void load();
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [span, fleet.value]);
  return { statistics: statistics?.span === span ? statistics : null, problem, progress, cancel };
}
