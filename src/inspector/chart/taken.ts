/** Which drawn edge a move took. A move tells where it began and ended; `always` may have gone on in between. */
import type { ChartDrawing, ChartEdge } from './charts.ts';

/** States by name; `event`: what was sent. */
export type Moved = { readonly from: string; readonly to: string; readonly event: string };

/** The last edge of the move. Null: none that leads from one state to another, or none that is drawn. */
export function edgeTaken({ edges, boxes }: ChartDrawing, { from, to, event }: Moved): ChartEdge | null {
  const named = (name: string) => boxes.find((box) => box.name === name && box.kind !== 'region')?.id ?? '';
  const [start, end] = [named(from), named(to)];
  const heard = edges.filter((edge) => edge.from === start && edge.transitions.some((it) => it.event === event));
  const direct = heard.find((edge) => edge.to === end && end !== start);
  if (direct !== undefined) return direct;
  const goesOn = (edge: ChartEdge) => edge.to === end && edge.transitions.some(({ kind }) => kind === 'always');
  for (const edge of heard) {
    const next = edges.find((it) => it.from === (edge.to ?? start) && goesOn(it));
    if (next !== undefined) return next;
  }
  return heard.find((edge) => (edge.to ?? start) === end) ?? null;
}
