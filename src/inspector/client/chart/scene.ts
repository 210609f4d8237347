/** Shared by the parts of a chart: the status of each state, the focus, and the order of the tree. */
import type { ChartBox, ChartDrawing } from '../../chart/drawing.ts';

export type StateStatus = {
  /** Number of actors in the state, or null if the chart shows one actor. */
  readonly count: number | null;
  /** Share of all actors that are in the state, 0 to 1. */
  readonly share: number;
  readonly active: boolean;
  readonly picked: boolean;
};
export const noStatus: StateStatus = { count: null, share: 0, active: false, picked: false };

export type ChartScene = {
  readonly drawing: ChartDrawing;
  /** The status of each state, by id. */
  readonly statuses: ReadonlyMap<string, StateStatus>;
  readonly heat: boolean | undefined;
  readonly onPick: ((state: string) => void) | undefined;
  /** The state in the tab order. */
  readonly focused: string;
  readonly focus: (id: string) => void;
  /** Highlights the edges that leave a state. */
  readonly highlight: (id: string | null) => void;
};

type Statuses = {
  readonly drawing: ChartDrawing;
  readonly counts?: readonly number[] | undefined;
  readonly active?: string | readonly string[] | null | undefined;
  readonly picked?: string | readonly string[] | null | undefined;
};

/** Computes the status of each state. Shares are relative to the state's region. */
export function statusesOf({ drawing, counts, active, picked }: Statuses): ReadonlyMap<string, StateStatus> {
  const states = drawing.boxes.filter((box) => !drawing.boxes.some(({ parent }) => parent === box.id));
  const [activeNames, pickedNames] = [active, picked].map((names) =>
    typeof names === 'string' ? [names] : (names ?? []),
  );
  const statuses = states.map((box, boxIndex): readonly [string, StateStatus] => {
    const siblingCounts = states.map((state, index) => (state.parent === box.parent ? (counts?.[index] ?? 0) : 0));
    const total = siblingCounts.reduce((sum, count) => sum + count, 0);
    const count = counts?.[boxIndex] ?? null;
    const isIn = (names: readonly string[] | undefined) =>
      names?.some((name) => name === box.name || name === box.id) ?? false;
    const share = total === 0 || count === null ? 0 : count / total;
    return [box.id, { count, share, active: isIn(activeNames), picked: isIn(pickedNames) }];
  });
  return new Map(statuses);
}

/** The tree's items from top to bottom. Regions are not items; they only group them. */
export const treeOrder = (drawing: ChartDrawing, parent: string | null = null): ChartBox[] =>
  drawing.boxes
    .filter((box) => box.parent === parent)
    .flatMap((box) => [...(box.kind === 'region' ? [] : [box]), ...treeOrder(drawing, box.id)]);

export const itemOf = (svg: SVGSVGElement | null, id: string): SVGGElement | null =>
  svg?.querySelector<SVGGElement>(`[data-id="${CSS.escape(id)}"]`) ?? null;

/** The keys of the tree: arrows, Home and End move the focus, Enter and Space pick a state. */
export function onTreeKey(event: KeyboardEvent, { drawing, focused, focus, onPick }: ChartScene): void {
  const order = treeOrder(drawing);
  const index = order.findIndex(({ id }) => id === focused);
  const current = order[index];
  if (event.key === 'Enter' || event.key === ' ') {
    event.preventDefault();
    if (current !== undefined) onPick?.(current.name);
    return;
  }
  const target = targets[event.key];
  if (target === undefined) return;
  event.preventDefault();
  const next = target(order, index, current);
  if (next !== undefined) focus(next.id);
}

type Target = (order: readonly ChartBox[], index: number, current: ChartBox | undefined) => ChartBox | undefined;

const targets: Readonly<Partial<Record<string, Target>>> = {
  ArrowDown: (order, index) => order[index + 1],
  ArrowUp: (order, index) => order[index - 1],
  ArrowRight: (order, _index, current) =>
    order.find(({ parent }) => parent === current?.id) ?? firstBeside(order, current, 1),
  ArrowLeft: (order, _index, current) =>
    order.find(({ id }) => id === current?.parent) ?? firstBeside(order, current, -1),
  Home: (order) => order[0],
  End: (order) => order.at(-1),
};

/** The first state of the next or the previous region. */
function firstBeside(order: readonly ChartBox[], current: ChartBox | undefined, step: 1 | -1): ChartBox | undefined {
  const parents = [...new Set(order.map(({ parent }) => parent))];
  const beside = parents[parents.indexOf(current?.parent ?? null) + step];
  return order.find(({ parent }) => parent === beside);
}
