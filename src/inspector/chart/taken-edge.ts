/** Which edge a transition took. Only its first and last state are known; `always` may have led through others. */
import type { ChartDrawing, ChartEdge } from './drawing.ts';

/** `from` and `to`: names of states. */
export type TakenTransition = { readonly from: string; readonly to: string; readonly event: string };

/** The last edge that was taken. Null: the chart has none for it. */
export function edgeTaken({ edges, boxes }: ChartDrawing, { from, to, event }: TakenTransition): ChartEdge | null {
  const idOf = (name: string) => boxes.find((box) => box.name === name && box.kind !== 'region')?.id ?? '';
  const [start, end] = [idOf(from), idOf(to)];
  const first = edges.filter((edge) => edge.from === start && edge.transitions.some((it) => it.event === event));
  const direct = first.find((edge) => edge.to === end && end !== start);
  if (direct !== undefined) return direct;
  const isAlwaysToEnd = (edge: ChartEdge) => edge.to === end && edge.transitions.some(({ kind }) => kind === 'always');
  for (const edge of first) {
    const next = edges.find((it) => it.from === (edge.to ?? start) && isAlwaysToEnd(it));
    if (next !== undefined) return next;
  }
  return first.find((edge) => (edge.to ?? start) === end) ?? null;
}
