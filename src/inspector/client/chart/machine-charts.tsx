/** The statecharts of workers and tasks, for one actor or the whole fleet. */
import { task, worker } from 'stopgate:charts';
import { task as taskOutline, worker as workerOutline } from 'stopgate:outlines';
import { useMemo } from 'preact/hooks';
import type { State } from '../../../../machines/index.ts';
import { presences } from '../../../../machines/values/states.ts';
import { drawOutline } from '../../chart/drawing.ts';
import { edgeTaken, type TakenTransition } from '../../chart/taken.ts';
import { isPast, shownFleet, stateCounts } from '../data/past.ts';
import { navigate, route, toggleState } from '../route.ts';
import { Chart } from './chart.tsx';

/** The charts as laid out by the build: with all labels, and as outlines. */
export const charts = {
  worker: { drawing: worker, outline: drawOutline(worker, workerOutline) },
  task: { drawing: task, outline: drawOutline(task, taskOutline) },
} as const;

type Props = {
  readonly machine: 'worker' | 'task';
  readonly states: readonly string[];
  readonly transition: TakenTransition | null;
  /** The latest transition of its presence. */
  readonly beside?: TakenTransition | null;
  readonly id: string;
};

export const ActorChart = ({ machine, states, transition, beside = null, id }: Props) => (
  <Chart machine={machine} {...charts[machine]} active={states} transition={transition} beside={beside} viewKey={id} />
);

/** The fleet on its statechart: the number of actors in each state, and the latest transition. */
export function FleetChart({ machine }: { machine: 'worker' | 'task' }) {
  const text = stateCounts[machine].value;
  const counts = useMemo(() => text.split(',').map(Number), [text]);
  const transition = shownFleet.value.last.value[machine];
  const { state, presence } = route.value;
  const onPick = (name: string) => {
    const isPresence = presences.some((presence) => presence === name);
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

/** How often each edge was taken in the last ten minutes. Unknown in the past. */
function useFlows(machine: 'worker' | 'task'): ReadonlyMap<string, number> {
  const { moved, moves } = shownFleet.value;
  const version = isPast.value ? null : moved.value;
  return useMemo(() => {
    const flows = new Map<string, number>();
    if (version === null) return flows;
    for (const move of moves.totals(machine)) {
      const edge = edgeTaken(charts[machine].drawing, move);
      if (edge !== null) flows.set(edge.id, (flows.get(edge.id) ?? 0) + move.count);
    }
    return flows;
  }, [machine, version, moves]);
}
