/** The fleet in one sentence, for who hears the page: every five seconds at most, and only where it has changed. */
import { useEffect, useState } from 'preact/hooks';
import { workerStates } from '../../../machines/values/states.ts';
import type { FleetStore } from './fleet-store.ts';
import { plural } from './terms.ts';

const everyMs = 5_000;

export function Summary({ store }: { store: FleetStore }) {
  const [words, setWords] = useState('');
  useEffect(() => {
    const timer = setInterval(() => {
      const parts = workerStates
        .map((state, index) => `${store.workerCounts[index]} ${state}`)
        .filter((it) => !it.startsWith('0 '));
      setWords(`${plural(store.workers.size, 'worker')}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`);
    }, everyMs);
    return () => clearInterval(timer);
  }, [store]);
  return (
    <p class="sr-only" aria-live="polite">
      {words}
    </p>
  );
}
