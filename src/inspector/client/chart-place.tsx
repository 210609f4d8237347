/** Where the statecharts are drawn, and how many stand in each state, as a table too. */

import { task, worker } from 'stopgate:charts';
import { computed } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import type { State } from '../../../machines/index.ts';
import { presences, workerStates } from '../../../machines/values/states.ts';
import { Chart } from './chart.tsx';
import { focus } from './connection.ts';
import { StateMark, stateOf } from './marks.tsx';
import { isPast, shown } from './past.ts';
import { go, place } from './place.ts';
import { count } from './terms.ts';

const charts = { worker, task };

/** As a text, so that what shows them is rendered again only where one has changed. Of workers the presences come last. */
const countsOf = {
  worker: computed(() => {
    void shown.value.version.value;
    return [...shown.value.workerCounts, ...shown.value.presenceCounts].join();
  }),
  task: computed(() => {
    void shown.value.version.value;
    return shown.value.taskCounts.join();
  }),
};

/** Which states are picked, by the address; a second click lets one go. */
function pick(state: State): void {
  const picked = new Set(place.value.state === '' ? [] : place.value.state.split(','));
  if (!picked.delete(state)) picked.add(state);
  go({ state: [...picked].join(',') });
}

export function CountsRow({ machine }: { machine: 'worker' | 'task' }) {
  const counts = countsOf[machine].value.split(',').map(Number);
  const picked = place.value.state.split(',');
  return (
    <fieldset class="counts">
      <legend class="sr-only">Filter by state</legend>
      {workerStates.map((state, index) => (
        <button
          key={state}
          type="button"
          class="count"
          data-state={state}
          aria-pressed={picked.includes(state)}
          onClick={() => pick(state)}
        >
          <StateMark state={state} /> <b>{count(counts[index] ?? 0)}</b>
        </button>
      ))}
    </fieldset>
  );
}

/** The whole fleet on its chart: how many stand where, and the step that was taken last. */
export function FleetChart({ machine }: { machine: 'worker' | 'task' }) {
  const [isOpen, setOpen] = useState(readOpen);
  const toggle = (open: boolean) => {
    setOpen(open);
    localStorage.setItem(openKey, open ? 'yes' : 'no');
  };
  return (
    <details class="fold" open={isOpen} onToggle={(event) => toggle(event.currentTarget.open)}>
      <summary>Statechart</summary>
      {isOpen && <LiveChart machine={machine} />}
    </details>
  );
}

function LiveChart({ machine }: { machine: 'worker' | 'task' }) {
  const store = shown.value;
  const text = countsOf[machine].value;
  const counts = useMemo(() => text.split(',').map(Number), [text]);
  const last = isPast.value ? null : store.moved.value;
  const moved =
    last === null || last[0] !== machine[0] ? null : { from: stateOf(last[1]), to: stateOf(last[2]), event: last[3] };
  const { state, presence } = place.value;
  const picked = state.includes(',') ? null : state || presence || null;
  return (
    <Chart
      machine={machine}
      layout={charts[machine]}
      counts={counts}
      moved={moved}
      heat
      picked={picked}
      onPick={(name) =>
        presences.some((it) => it === name) ? go({ presence: presence === name ? '' : name }) : pick(name as State)
      }
    />
  );
}

/** One actor on its chart. */
export function ChartOf({ machine, states }: { machine: 'worker' | 'task'; states: readonly string[] }) {
  const [isOpen, setOpen] = useState(true);
  const moved = isPast.value ? null : (focus.value?.moved ?? null);
  return (
    <details class="fold" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Where it stands</summary>
      {isOpen && <Chart machine={machine} layout={charts[machine]} active={states} moved={moved} />}
    </details>
  );
}

const openKey = 'stopgate.chart';
/** A phone has no room for it, unless it is wanted there. */
const readOpen = () => (localStorage.getItem(openKey) ?? (innerWidth < 700 ? 'no' : 'yes')) === 'yes';
