/** Which edge a transition took. Only its first and last state are known; `always` may have led through others. */
import type { ChartDrawing, ChartEdge } from './drawing.ts';

/** `from` and `to`: names of states. `guard`: of the latest decision, where it is known. */
export type TakenTransition = {
  readonly from: string;
  readonly to: string;
  readonly event: string;
  readonly guard?: string | null | undefined;
};

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

/**
 * Says why an edge was taken: the event, or the guard that decided; all guards that may have, where it is not known
 * which.
 */
export function reasonTaken({ transitions }: ChartEdge, { event, guard }: TakenTransition): string {
  const ofEvent = transitions.filter((it) => it.event === event);
  const ofGuard = transitions.filter((it) => it.kind === 'always' && it.guard === guard);
  const found = [ofEvent, ofGuard].find(({ length }) => length > 0) ?? transitions.filter((it) => it.kind === 'always');
  const texts = found.map((it) => [it.event, it.guard === null ? '' : `[${it.guard}]`].filter(Boolean).join(' '));
  return [...new Set(texts)].filter(Boolean).join(' or ');
}
