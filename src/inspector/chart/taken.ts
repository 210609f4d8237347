/** Finds the edge that a transition took. Only its first and last state are known; `always` may lead through others. */
import type { ChartDrawing, ChartEdge } from './drawing.ts';

/** `from` and `to` are state names. `guard` is the guard of the latest decision, if known. */
export type TakenTransition = {
  readonly from: string;
  readonly to: string;
  readonly event: string;
  readonly guard?: string | null | undefined;
};

/** Returns the last edge taken, or null if the chart has no matching edge. */
export function edgeTaken({ edges, boxes }: ChartDrawing, { from, to, event }: TakenTransition): ChartEdge | null {
  const idOf = (name: string) => boxes.find((box) => box.name === name && box.kind !== 'region')?.id ?? '';
  const [start, end] = [idOf(from), idOf(to)];
  const first = edges.filter(
    (edge) => edge.from === start && edge.transitions.some((transition) => transition.event === event),
  );
  const direct = first.find((edge) => edge.to === end && end !== start);
  if (direct !== undefined) return direct;
  const isAlwaysToEnd = (edge: ChartEdge) => edge.to === end && edge.transitions.some(({ kind }) => kind === 'always');
  for (const edge of first) {
    const next = edges.find((follower) => follower.from === (edge.to ?? start) && isAlwaysToEnd(follower));
    if (next !== undefined) return next;
  }
  return first.find((edge) => (edge.to ?? start) === end) ?? null;
}

/** Describes why an edge was taken: the event, or the guard that decided (all candidates if it is unknown). */
export function reasonTaken({ transitions }: ChartEdge, { event, guard }: TakenTransition): string {
  const ofEvent = transitions.filter((transition) => transition.event === event);
  const ofGuard = transitions.filter((transition) => transition.kind === 'always' && transition.guard === guard);
  const found =
    [ofEvent, ofGuard].find(({ length }) => length > 0) ??
    transitions.filter((transition) => transition.kind === 'always');
  const texts = found.map((transition) =>
    [transition.event, transition.guard === null ? '' : `[${transition.guard}]`].filter(Boolean).join(' '),
  );
  return [...new Set(texts)].filter(Boolean).join(' or ');
}
