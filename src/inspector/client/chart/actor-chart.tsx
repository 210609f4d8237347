/** One actor on its statechart, with the transition that it took last. */
import type { TakenTransition } from '../../chart/taken-edge.ts';
import { Chart } from './chart.tsx';
import { charts } from './charts.ts';

type Props = {
  readonly machine: 'worker' | 'task';
  readonly states: readonly string[];
  readonly transition: TakenTransition | null;
  /** The latest of its presence. */
  readonly beside?: TakenTransition | null;
  readonly id: string;
};

export const ActorChart = ({ machine, states, transition, beside = null, id }: Props) => (
  <Chart machine={machine} {...charts[machine]} active={states} transition={transition} beside={beside} viewKey={id} />
);
