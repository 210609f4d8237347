/** The drawings of our machines. For the build and the tests: nothing that serves or shows charts may import ELK. */
import elk from 'elkjs/lib/elk.bundled.js';
import type { ELK, ElkNode } from 'elkjs/lib/elk-api.js';
import type { AnyStateMachine } from 'xstate';
import { chartOf } from './definition.ts';
import type { ChartDrawing, Outline } from './drawing.ts';
import { layOut, layoutOptions, readAreas, readPoints, stateSize } from './layout.ts';

export const drawingOf = (machine: AnyStateMachine): Promise<ChartDrawing> => layOut(chartOf(machine), createEngine());

export const outlineOf = (drawing: ChartDrawing): Promise<Outline> => layOutOutline(drawing, createEngine());

const createEngine = () => new (elk as unknown as new () => ELK)();

const options = {
  ...layoutOptions,
  'elk.layered.spacing.nodeNodeBetweenLayers': '24',
  'elk.layered.spacing.edgeNodeBetweenLayers': '12',
};
const regionPadding = { 'elk.padding': '[top=40,left=16,bottom=16,right=16]' };

/**
 * The outline of a chart: its states and edges without the texts, which take most of the room. It fits a panel with names
 * of a readable size.
 */
async function layOutOutline(drawing: ChartDrawing, engine: Pick<ELK, 'layout'>): Promise<Outline> {
  const graph: ElkNode = {
    id: drawing.id,
    layoutOptions: options,
    children: nodesIn(drawing, null),
    edges: drawing.edges
      .filter(({ points }) => points.length > 0)
      .map(({ id, from, to }) => ({ id, sources: [from], targets: [to as string] })),
  };
  const placed = await engine.layout(graph);
  const areas = readAreas(placed);
  const routes = new Map(placed.edges?.map((edge) => [edge.id, edge]));
  return {
    width: Math.ceil(placed.width ?? 0),
    height: Math.ceil(placed.height ?? 0),
    areas: drawing.boxes.map(({ id }) => areas.get(id) ?? { x: 0, y: 0, width: 0, height: 0 }),
    lines: drawing.edges.map(({ id }) => readPoints(routes.get(id))),
  };
}

const nodesIn = (drawing: ChartDrawing, parent: string | null): ElkNode[] =>
  drawing.boxes
    .filter((box) => box.parent === parent)
    .map(({ id, name, initial }) => {
      const first: Record<string, string> = initial ? { 'elk.layered.layering.layerConstraint': 'FIRST' } : {};
      const children = nodesIn(drawing, id);
      return children.length > 0
        ? { id, children, layoutOptions: { ...options, ...regionPadding, ...first } }
        : { id, ...stateSize(name), layoutOptions: first };
    });

/** The drawing of one of our machines. For the build and the tests: nothing that serves or shows charts may import it. */
