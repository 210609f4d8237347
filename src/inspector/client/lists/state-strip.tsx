/**
 * The state strip: how many actors are in each state, and how many came and left in the last ten minutes. A click
 * filters. It can be expanded to the chart, or to a cell for each worker.
 */
import { signal } from '@preact/signals';
import { type State, workerStates } from '../../../../machines/values/states.ts';
import { isPast, shownFleet, stateCounts } from '../data/past.ts';
import { route, toggleState } from '../route.ts';
import { Button, createLazy } from '../ui/controls.tsx';
import { compact, count, plural } from '../ui/format.ts';
import { StateMark } from '../ui/text.tsx';

type Shown = 'chart' | 'cells' | '';
const openKey = 'stopgate.strip';

const shown = signal((localStorage.getItem(openKey) ?? '') as Shown);

function toggle(next: Shown): void {
  shown.value = shown.peek() === next ? '' : next;
  localStorage.setItem(openKey, shown.peek());
}

type Props = { readonly machine: 'worker' | 'task' };

/** The buttons that expand and collapse the strip. */
export const StripTools = ({ machine }: Props) => (
  <div class="row strip-tools">
    <Toggle name="Chart" isOn={shown.value === 'chart'} onClick={() => toggle('chart')} />
    {machine === 'worker' && <Toggle name="Cells" isOn={shown.value === 'cells'} onClick={() => toggle('cells')} />}
  </div>
);

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
  const flows = useFlows(machine);
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
          <Flow came={flows.came[index] ?? 0} left={flows.left[index] ?? 0} minutes={flows.minutes} />
        </Button>
      ))}
    </fieldset>
  );
}

const Flow = ({ came, left, minutes }: { came: number; left: number; minutes: number }) =>
  isPast.value ? null : (
    <span class="flow muted" title={`came and left in the last ${plural(minutes, 'minute')}`}>
      {(came > 0 || left > 0) && (
        <>
          <span aria-hidden="true">+{compact(came)}</span>
          <span aria-hidden="true">−{compact(left)}</span>
        </>
      )}
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
  const add = (counts: number[], state: State, times: number) => {
    const index = workerStates.indexOf(state);
    counts[index] = (counts[index] ?? 0) + times;
  };
  for (const move of moves.totals(machine)) {
    add(left, move.from, move.count);
    add(came, move.to, move.count);
  }
  return { came, left, minutes: 10 };
}
