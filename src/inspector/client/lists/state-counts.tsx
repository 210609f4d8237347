/** How many actors are in each state. A click filters by the state, another one removes the filter. */
import type { State } from '../../../../machines/index.ts';
import { workerStates } from '../../../../machines/values/states.ts';
import { stateCounts } from '../data/state-counts.ts';
import { navigate, route } from '../route.ts';
import { count } from '../ui/format.ts';
import { StateMark } from '../ui/state-mark.tsx';

export function StateCounts({ machine }: { machine: 'worker' | 'task' }) {
  const counts = stateCounts[machine].value.split(',').map(Number);
  const picked = route.value.state.split(',');
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
        </button>
      ))}
    </fieldset>
  );
}

/** Adds a state to the filter, or removes it. */
export function toggleState(state: State): void {
  const picked = new Set(route.value.state === '' ? [] : route.value.state.split(','));
  if (!picked.delete(state)) picked.add(state);
  navigate({ state: [...picked].join(',') });
}
