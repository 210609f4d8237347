/** One actor on its statechart. */
import { task, worker } from 'stopgate:charts';
import { useState } from 'preact/hooks';
import { focus } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { Chart } from './chart.tsx';

const charts = { worker, task };

export function ActorChart({ machine, states }: { machine: 'worker' | 'task'; states: readonly string[] }) {
  const [isOpen, setOpen] = useState(true);
  const transition = isPast.value ? null : (focus.value?.transition ?? null);
  return (
    <details class="fold" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Current state</summary>
      {isOpen && <Chart machine={machine} drawing={charts[machine]} active={states} transition={transition} />}
    </details>
  );
}
