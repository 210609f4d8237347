/**
 * The state strip: how many actors are in each state. A click filters. It can be expanded to the chart, or in a large
 * fleet to a cell for each worker.
 */
import { signal } from '@preact/signals';
import { workerStates } from '../../../../machines/values/states.ts';
import { shownFleet, stateCounts } from '../data/past.ts';
import { route, toggleState } from '../route.ts';
import { Button, createLazy } from '../ui/controls.tsx';
import { count } from '../ui/format.ts';
import { StateMark } from '../ui/text.tsx';
import { cellsMin } from './listed-ids.ts';

type Shown = 'chart' | 'cells' | '';
const openKey = 'stopgate.strip';

const shown = signal((localStorage.getItem(openKey) ?? '') as Shown);

function toggle(next: Shown): void {
  shown.value = shown.peek() === next ? '' : next;
  localStorage.setItem(openKey, shown.peek());
}

type Props = { readonly machine: 'worker' | 'task' };

/** The buttons that expand and collapse the strip. */
export function StripTools({ machine }: Props) {
  void shownFleet.value.ids.value;
  return (
    <div class="row strip-tools">
      <Toggle name="Chart" isOn={shown.value === 'chart'} onClick={() => toggle('chart')} />
      {machine === 'worker' && shownFleet.value.workers.size > cellsMin && (
        <Toggle name="Cells" isOn={shown.value === 'cells'} onClick={() => toggle('cells')} />
      )}
    </div>
  );
}

const FleetChart = createLazy('the chart', async () => (await import('../chart/machine-charts.tsx')).FleetChart);

const Overview = createLazy('the cells', async () => (await import('./overview.tsx')).Overview);

/** The expanded chart or overview. */
export function OpenedStrip({ machine }: Props) {
  if (shown.value === 'chart') return <FleetChart machine={machine} />;
  return shown.value === 'cells' && machine === 'worker' ? <Overview /> : null;
}

const Toggle = ({ name, isOn, onClick }: { name: string; isOn: boolean; onClick: () => void }) => (
  <Button aria-expanded={isOn} onClick={onClick}>
    {name} <span aria-hidden="true">{isOn ? '▾' : '▸'}</span>
  </Button>
);

export function StateStrip({ machine }: Props) {
  const counts = stateCounts[machine].value.split(',').map(Number);
  const picked = route.value.state.split(',');
  return (
    <fieldset class="counts">
      <legend class="sr-only">Filter by state</legend>
      {workerStates.map((state, index) => (
        <Button
          key={state}
          class="row count"
          data-state={state}
          data-empty={(counts[index] ?? 0) === 0 || undefined}
          aria-pressed={picked.includes(state)}
          onClick={() => toggleState(state)}
        >
          <StateMark state={state} /> <b>{count(counts[index] ?? 0)}</b>
        </Button>
      ))}
    </fieldset>
  );
}
