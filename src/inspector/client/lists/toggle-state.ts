/** The filter by state, which the strip and the chart set. */
import type { State } from '../../../../machines/index.ts';
import { navigate, route } from '../route.ts';

/** Adds a state to the filter, or removes it. */
export function toggleState(state: State): void {
  const picked = new Set(route.value.state === '' ? [] : route.value.state.split(','));
  if (!picked.delete(state)) picked.add(state);
  navigate({ state: [...picked].join(',') });
}
