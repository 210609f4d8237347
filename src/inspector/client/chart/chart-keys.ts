/** The keys of the tree: arrows, Home and End move the focus, Enter and Space pick a state. */
import type { ChartBox } from '../../chart/drawing.ts';
import { type ChartScene, treeOrder } from './scene.ts';

export function onTreeKey(event: KeyboardEvent, { drawing, focused, focus, onPick }: ChartScene): void {
  const order = treeOrder(drawing);
  const at = order.findIndex(({ id }) => id === focused);
  const current = order[at];
  if (event.key === 'Enter' || event.key === ' ') {
    event.preventDefault();
    if (current !== undefined) onPick?.(current.name);
    return;
  }
  const target = targets[event.key];
  if (target === undefined) return;
  event.preventDefault();
  const next = target(order, at, current);
  if (next !== undefined) focus(next.id);
}

type Target = (order: readonly ChartBox[], at: number, current: ChartBox | undefined) => ChartBox | undefined;

const targets: Readonly<Partial<Record<string, Target>>> = {
  ArrowDown: (order, at) => order[at + 1],
  ArrowUp: (order, at) => order[at - 1],
  ArrowRight: (order, _at, current) =>
    order.find(({ parent }) => parent === current?.id) ?? firstBeside(order, current, 1),
  ArrowLeft: (order, _at, current) => order.find(({ id }) => id === current?.parent) ?? firstBeside(order, current, -1),
  Home: (order) => order[0],
  End: (order) => order.at(-1),
};

/** The first state of the next or the previous region. */
function firstBeside(order: readonly ChartBox[], current: ChartBox | undefined, step: 1 | -1): ChartBox | undefined {
  const parents = [...new Set(order.map(({ parent }) => parent))];
  const beside = parents[parents.indexOf(current?.parent ?? null) + step];
  return order.find(({ parent }) => parent === beside);
}
