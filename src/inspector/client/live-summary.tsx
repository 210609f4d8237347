/** The fleet in one sentence for screen readers: updated at most every five seconds, and announced only if it changed. */
import { useEffect, useState } from 'preact/hooks';
import { workerStates } from '../../../machines/values/states.ts';
import type { FleetStore } from './data/fleet-store.ts';
import { plural } from './ui/format.ts';

const intervalMs = 5_000;

export function LiveSummary({ store }: { store: FleetStore }) {
  const [text, setText] = useState('');
  useEffect(() => {
    const timer = setInterval(() => {
      const parts = workerStates
        .map((state, index) => `${store.workerCounts[index]} ${state}`)
        .filter((it) => !it.startsWith('0 '));
      setText(`${plural(store.workers.size, 'worker')}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`);
    }, intervalMs);
    return () => clearInterval(timer);
  }, [store]);
  return (
    <p class="sr-only" aria-live="polite">
      {text}
    </p>
  );
}
