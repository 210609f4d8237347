/**
 * Lays out the machines' charts with ELK. Only for the build and tests, because ELK is far too large for the page. The
 * result is deterministic.
 */
import elk from 'elkjs/lib/elk.bundled.js';
import type { ELK, ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk-api.js';
import type { AnyStateMachine } from 'xstate';
import { type ChartDefinition, type ChartState, type ChartTransition, chartOf } from './definition.ts';
import type { Area, ChartBox, ChartDrawing, ChartEdge, ChartText, Outline } from './drawing.ts';

const layOut = (graph: ElkNode): Promise<ElkNode> => new (elk as unknown as new () => ELK)().layout(graph);

/**
 * Returns the label of an edge in as few lines as possible: first the events without a guard, then groups of events
 * that share a guard, such as `task.completed, task.failed [holdsOnlyThis]`. An unguarded transition that follows
 * guarded ones for the same event gets `[else]`.
 * @param all all transitions of the chart
 */
function labelLines(edge: readonly ChartTransition[], all: readonly ChartTransition[], lineCharsMax: number): string[] {
  const guardsByEvent = groupBy(edge, ({ event }) => event);
  const groups = groupBy([...guardsByEvent], ([, transitions]) =>
    unique(transitions.map((transition) => guardOf(transition, all)))
      .filter((guard) => guard !== '')
      .join(', '),
  );
  const plain = groups.get('')?.map(([event]) => event) ?? [];
  const guarded = [...groups].filter(([guards]) => guards !== '');
  return [
    ...wrap(plain, lineCharsMax),
    ...guarded.flatMap(([guards, members]) => {
      const events = members.map(([event]) => event).filter((event) => event !== '');
      if (events.length === 0) return wrap(guards.split(', '), lineCharsMax);
      const line = `${events.join(', ')} ${guards}`;
      return line.length <= lineCharsMax ? [line] : [...wrap(events, lineCharsMax), `  ${guards}`];
    }),
  ];
}

function guardOf({ event, guard, from }: ChartTransition, all: readonly ChartTransition[]): string {
  if (guard !== null) return `[${guard}]`;
  return all.some((other) => other.from === from && other.event === event && other.guard !== null) ? '[else]' : '';
}

/** Wraps items into lines; short ones share a line. */
function wrap(items: readonly string[], lineCharsMax: number): string[] {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (last === undefined || last.length + item.length + 2 > lineCharsMax) lines.push(item);
    else lines[lines.length - 1] = `${last}, ${item}`;
  }
  return lines;
}

const unique = (items: readonly string[]): string[] => [...new Set(items)];

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** Labels use a monospaced font, so their width is known. `charWidth` is that of the widest common font at 12 px. */
const label = { charWidth: 7.3, lineHeight: 15, padX: 5, padY: 2 };
/** Narrow beside an edge, where labels push states apart; wide in a box, which grows taller with each line. */
const lineCharsMax = { edge: 24, box: 34 };
const nameCharWidth = 9;
/** Room beside a state's name for a count of six digits. */
const countWidth = 64;
const headHeight = 34;
/** Minimum width for the title of the box of `everywhere` events. */
const everywhereWidthMin = 140;
const gap = 16;

const layoutOptions = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.edgeCoords': 'ROOT',
  'elk.randomSeed': '1',
  'elk.layered.edgeLabels.sideSelection': 'SMART_DOWN',
  // Keeps the initial state on top. Strategies that reverse fewer edges put `validating` above `working`.
  'elk.layered.cycleBreaking.strategy': 'DFS_NODE_ORDER',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.compaction.postCompaction.strategy': 'EDGE_LENGTH',
  'elk.layered.spacing.nodeNodeBetweenLayers': '28',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '10',
  'elk.spacing.nodeNode': '16',
  'elk.spacing.edgeNode': '12',
  'elk.spacing.edgeEdge': '10',
  'elk.spacing.edgeLabel': '2',
  'elk.padding': '[top=8,left=8,bottom=8,right=8]',
};
// ELK does not inherit the root's options in nested nodes.
const nestedBelow = (rows: readonly { readonly height: number }[]) => {
  const top = rows.reduce((sum, { height }) => sum + height, headHeight + 6);
  return { ...layoutOptions, 'elk.padding': `[top=${top},left=${gap},bottom=${gap},right=${gap}]` };
};

export async function drawingOf(machine: AnyStateMachine): Promise<ChartDrawing> {
  const chart = chartOf(machine);
  const edges = mergeTransitions(chart.transitions);
  const graph: ElkNode = {
    id: chart.id,
    layoutOptions,
    children: nodesIn(chart, null, edges),
    edges: edges.filter(isDrawn).map(({ id, from, to, lines }) => ({
      id,
      sources: [from],
      targets: [to as string],
      // ELK reserves no room for a label without text.
      labels: [{ id: `label ${id}`, text: id, ...sizeOf(lines) }],
    })),
  };
  const placed = await layOut(graph);
  const boxes = readBoxes(chart, placed);
  const everywhere = placeBeside(boxes, placed, chart.everywhere);
  return {
    id: chart.id,
    width: Math.ceil(Math.max(placed.width ?? 0, everywhere.x + everywhere.width + gap)),
    height: Math.ceil(Math.max(placed.height ?? 0, everywhere.y + everywhere.height + gap)),
    boxes,
    edges: readEdges(edges, boxes, placed),
    everywhere,
  };
}

/** All transitions from one state to another, as one edge. */
type Merged = Pick<ChartEdge, 'id' | 'from' | 'to'> & {
  readonly transitions: ChartTransition[];
  readonly lines: readonly string[];
};

/** Whether an edge is drawn as a line. Loops and edges between a state and its descendants are text in the box. */
const isDrawn = ({ from, to }: Pick<ChartEdge, 'from' | 'to'>): boolean =>
  to !== null && to !== from && !to.startsWith(`${from}.`) && !from.startsWith(`${to}.`);

function mergeTransitions(transitions: readonly ChartTransition[]): Merged[] {
  const groups = new Map<string, ChartTransition[]>();
  for (const transition of transitions) {
    const id = `${transition.from} ${transition.to ?? ''}`.trim();
    groups.set(id, [...(groups.get(id) ?? []), transition]);
  }
  return [...groups].map(([id, group]) => {
    const { from, to } = group[0] as ChartTransition;
    const lines = labelLines(group, transitions, isDrawn({ from, to }) ? lineCharsMax.edge : lineCharsMax.box);
    return { id, from, to, transitions: group, lines: markTarget(lines, from, to) };
  });
}

/** Adds the target to the label of an edge that is not drawn as a line. */
function markTarget(lines: readonly string[], from: string, to: string | null): readonly string[] {
  if (to === from) return lines.map(markLoop);
  if (to === null || isDrawn({ from, to })) return lines;
  return [...lines.slice(0, -1), `${lines.at(-1)} → ${to.split('.').at(-1)}`];
}

/** Marks a loop. An indented line continues the one above. */
const markLoop = (line: string): string => (line.startsWith(' ') ? line : `↻ ${line}`);

const sizeOf = (lines: readonly string[]) => ({
  width: Math.ceil(Math.max(0, ...lines.map((line) => line.length)) * label.charWidth) + 2 * label.padX,
  height: lines.length * label.lineHeight + 2 * label.padY,
});

const nodesIn = (chart: ChartDefinition, parent: string | null, edges: readonly Merged[]): ElkNode[] =>
  chart.states.filter((state) => state.parent === parent).map((state) => nodeOf(chart, state, edges));

function nodeOf(chart: ChartDefinition, { id, name, initial }: ChartState, edges: readonly Merged[]): ElkNode {
  const children = nodesIn(chart, id, edges);
  const first: Record<string, string> = initial ? { 'elk.layered.layering.layerConstraint': 'FIRST' } : {};
  const rows = rowsIn(id, edges).map(({ lines }) => sizeOf(lines));
  if (children.length > 0) return { id, children, layoutOptions: { ...nestedBelow(rows), ...first } };
  const { width, height } = stateSize(name);
  return {
    id,
    width: Math.max(width, ...rows.map((row) => row.width + gap)),
    height: height + rows.reduce((sum, row) => sum + row.height, 0) + (rows.length > 0 ? 4 : 0),
    layoutOptions: first,
  };
}

/** Size of a box with only a name and a count. */
const stateSize = (name: string) => ({
  width: 2 * gap + name.length * nameCharWidth + countWidth,
  height: headHeight + 4,
});

const rowsIn = (state: string, edges: readonly Merged[]): Merged[] =>
  edges.filter((edge) => edge.from === state && !isDrawn(edge));

function readBoxes(chart: ChartDefinition, placed: ElkNode): ChartBox[] {
  const areas = readAreas(placed);
  return chart.states.map((state) => ({ ...state, ...(areas.get(state.id) as Area) }));
}

/** Reads the areas of all nodes, by id. */
function readAreas(placed: ElkNode): ReadonlyMap<string, Area> {
  const areas = new Map<string, Area>();
  const visit = ({ id, x = 0, y = 0, width = 0, height = 0, children = [] }: ElkNode, left: number, top: number) => {
    areas.set(id, rounded({ x: left + x, y: top + y, width, height }));
    for (const child of children) visit(child, left + x, top + y);
  };
  visit(placed, 0, 0);
  return areas;
}

function readPoints(route: ElkExtendedEdge | undefined): ChartEdge['points'] {
  const [section] = route?.sections ?? [];
  const points = section === undefined ? [] : [section.startPoint, ...(section.bendPoints ?? []), section.endPoint];
  return points.map(({ x, y }) => [tenth(x), tenth(y)] as const);
}

function readEdges(merged: readonly Merged[], boxes: readonly ChartBox[], placed: ElkNode): ChartEdge[] {
  const routes = new Map(placed.edges?.map((edge) => [edge.id, edge]));
  return merged.map(({ id, from, to, transitions, lines }) => {
    const route = routes.get(id);
    const corner = route?.labels?.[0] ?? rowAt(id, from, merged, boxes);
    return {
      id,
      from,
      to,
      transitions: transitions.map(({ kind, event, guard }) => ({ kind, event, guard })),
      points: readPoints(route),
      label: { ...rounded({ ...sizeOf(lines), x: corner.x ?? 0, y: corner.y ?? 0 }), lines },
    };
  });
}

function rowAt(id: string, from: string, merged: readonly Merged[], boxes: readonly ChartBox[]) {
  const { x, y } = boxes.find((box) => box.id === from) as ChartBox;
  const rows = rowsIn(from, merged);
  const above = rows.slice(
    0,
    rows.findIndex((row) => row.id === id),
  );
  return { x: x + 8, y: y + headHeight + above.reduce((sum, { lines }) => sum + sizeOf(lines).height, 0) };
}

/** Places the box of `everywhere` events below the last region, or to the right of everything. */
function placeBeside(boxes: readonly ChartBox[], { width = 0 }: ElkNode, lines: readonly string[]): ChartText {
  const region = boxes.findLast(({ kind, parent }) => kind === 'region' && parent === null);
  const size = sizeOf(lines);
  const room = { width: Math.max(everywhereWidthMin, size.width + 2 * gap), height: size.height + headHeight + gap };
  const corner = region === undefined ? { x: width + gap, y: 8 } : { x: region.x, y: region.y + region.height + gap };
  return { ...rounded({ ...corner, ...room }), lines };
}

const tenth = (value: number): number => Math.round(value * 10) / 10;
const rounded = ({ x, y, width, height }: Area): Area => ({
  x: tenth(x),
  y: tenth(y),
  width: tenth(width),
  height: tenth(height),
});

const outlineOptions = {
  ...layoutOptions,
  'elk.layered.spacing.nodeNodeBetweenLayers': '24',
  'elk.layered.spacing.edgeNodeBetweenLayers': '12',
};
const regionPadding = { 'elk.padding': '[top=40,left=16,bottom=16,right=16]' };

/** Lays out a chart without labels, which take most of the room. It fits a panel with names of readable size. */
export async function outlineOf(drawing: ChartDrawing): Promise<Outline> {
  const graph: ElkNode = {
    id: drawing.id,
    layoutOptions: outlineOptions,
    children: outlineNodesIn(drawing, null),
    edges: drawing.edges
      .filter(({ points }) => points.length > 0)
      .map(({ id, from, to }) => ({ id, sources: [from], targets: [to as string] })),
  };
  const placed = await layOut(graph);
  const areas = readAreas(placed);
  const routes = new Map(placed.edges?.map((edge) => [edge.id, edge]));
  return {
    width: Math.ceil(placed.width ?? 0),
    height: Math.ceil(placed.height ?? 0),
    areas: drawing.boxes.map(({ id }) => areas.get(id) ?? { x: 0, y: 0, width: 0, height: 0 }),
    lines: drawing.edges.map(({ id }) => readPoints(routes.get(id))),
  };
}

const outlineNodesIn = (drawing: ChartDrawing, parent: string | null): ElkNode[] =>
  drawing.boxes
    .filter((box) => box.parent === parent)
    .map(({ id, name, initial }) => {
      const first: Record<string, string> = initial ? { 'elk.layered.layering.layerConstraint': 'FIRST' } : {};
      const children = outlineNodesIn(drawing, id);
      return children.length > 0
        ? { id, children, layoutOptions: { ...outlineOptions, ...regionPadding, ...first } }
        : { id, ...stateSize(name), layoutOptions: first };
    });
