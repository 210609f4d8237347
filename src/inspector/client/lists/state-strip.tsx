/**
 * The chart as a strip: six states with how many are in each, and how many came and left in the last ten minutes. A
 * click filters. It opens to the whole chart, or to one cell for each worker.
 */
import { useState } from 'preact/hooks';
import { workerStates } from '../../../../machines/values/states.ts';
import { FleetChart } from '../chart/fleet-chart.tsx';
import { isPast, shownFleet } from '../data/past.ts';
import { stateCounts } from '../data/state-counts.ts';
import { route } from '../route.ts';
import { count, plural } from '../ui/format.ts';
import { StateMark } from '../ui/state-mark.tsx';
import { Overview } from './overview.tsx';
import { toggleState } from './toggle-state.ts';

type Shown = 'chart' | 'cells' | '';
const openKey = 'stopgate.strip';

export function StateStrip({ machine }: { machine: 'worker' | 'task' }) {
  const [shown, setShown] = useState<Shown>(() => (localStorage.getItem(openKey) ?? '') as Shown);
  const toggle = (next: Shown) => {
    const value = shown === next ? '' : next;
    localStorage.setItem(openKey, value);
    setShown(value);
  };
  return (
    <>
      <div class="strip">
        <Boxes machine={machine} />
        <div class="strip-tools">
          <Toggle name="Chart" isOn={shown === 'chart'} onClick={() => toggle('chart')} />
          {machine === 'worker' && <Toggle name="Cells" isOn={shown === 'cells'} onClick={() => toggle('cells')} />}
        </div>
      </div>
      {shown === 'chart' && <FleetChart machine={machine} />}
      {shown === 'cells' && machine === 'worker' && <Overview />}
    </>
  );
}

const Toggle = ({ name, isOn, onClick }: { name: string; isOn: boolean; onClick: () => void }) => (
  <button type="button" aria-expanded={isOn} onClick={onClick}>
    {name} <span aria-hidden="true">{isOn ? '▾' : '▸'}</span>
  </button>
);

function Boxes({ machine }: { machine: 'worker' | 'task' }) {
  const counts = stateCounts[machine].value.split(',').map(Number);
  const picked = route.value.state.split(',');
  const flows = useFlows(machine);
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
          onClick={() => toggleState(state)}
        >
          <StateMark state={state} /> <b>{count(counts[index] ?? 0)}</b>
          <Flow came={flows.came[index] ?? 0} left={flows.left[index] ?? 0} minutes={flows.minutes} />
        </button>
      ))}
    </fieldset>
  );
}

const Flow = ({ came, left, minutes }: { came: number; left: number; minutes: number }) =>
  isPast.value ? null : (
    <span class="flow" title={`came and left in the last ${plural(minutes, 'minute')}`}>
      <span aria-hidden="true">{came === 0 && left === 0 ? '·' : `→ ${count(came)}  ${count(left)} →`}</span>
      <span class="sr-only">
        , {count(came)} came and {count(left)} left in the last {plural(minutes, 'minute')}
      </span>
    </span>
  );

function useFlows(machine: 'worker' | 'task') {
  const { moved, moves } = shownFleet.value;
  void moved.value;
  const came = workerStates.map(() => 0);
  const left = workerStates.map(() => 0);
  for (const [, from, to, , times] of moves.of(machine === 'worker' ? 'w' : 't')) {
    left[from] = (left[from] ?? 0) + times;
    came[to] = (came[to] ?? 0) + times;
  }
  return { came, left, minutes: 10 };
}
