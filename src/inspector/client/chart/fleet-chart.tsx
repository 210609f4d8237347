/** The whole fleet on its statechart: how many actors are in each state, and the latest transition. */
import { useMemo } from 'preact/hooks';
import type { State } from '../../../../machines/index.ts';
import { presences } from '../../../../machines/values/states.ts';
import { edgeTaken } from '../../chart/taken-edge.ts';
import { isPast, shownFleet } from '../data/past.ts';
import { stateCounts } from '../data/state-counts.ts';
import { toggleState } from '../lists/toggle-state.ts';
import { navigate, route } from '../route.ts';
import { stateOf } from '../ui/states.ts';
import { Chart } from './chart.tsx';
import { charts } from './charts.ts';

export function FleetChart({ machine }: { machine: 'worker' | 'task' }) {
  const text = stateCounts[machine].value;
  const counts = useMemo(() => text.split(',').map(Number), [text]);
  const { w, t } = shownFleet.value.last.value;
  const latest = machine === 'worker' ? w : t;
  const transition = latest === null ? null : { from: stateOf(latest[1]), to: stateOf(latest[2]), event: latest[3] };
  const { state, presence } = route.value;
  const onPick = (name: string) => {
    const isPresence = presences.some((it) => it === name);
    if (isPresence) navigate({ presence: presence === name ? '' : name });
    else toggleState(name as State);
  };
  return (
    <Chart
      machine={machine}
      {...charts[machine]}
      counts={counts}
      transition={transition}
      heat
      flows={useFlows(machine)}
      viewKey="fleet"
      picked={state.includes(',') ? null : state || presence || null}
      onPick={onPick}
    />
  );
}

/** How often each edge was taken in the last ten minutes. Nothing is known of it in the past. */
function useFlows(machine: 'worker' | 'task'): ReadonlyMap<string, number> {
  const { moved, moves } = shownFleet.value;
  const version = isPast.value ? null : moved.value;
  return useMemo(() => {
    const flows = new Map<string, number>();
    if (version === null) return flows;
    for (const [, from, to, event, times] of moves.of(machine === 'worker' ? 'w' : 't')) {
      const edge = edgeTaken(charts[machine].drawing, { from: stateOf(from), to: stateOf(to), event });
      if (edge !== null) flows.set(edge.id, (flows.get(edge.id) ?? 0) + times);
    }
    return flows;
  }, [machine, version, moves]);
}
