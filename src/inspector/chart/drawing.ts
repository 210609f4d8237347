/** A laid-out chart as in `machines.json`, and its smaller form, the outline. Pure. */
import type { ChartState, ChartTransition } from './definition.ts';

export type Area = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
export type ChartBox = ChartState & Area;
export type ChartText = Area & { readonly lines: readonly string[] };
/**
 * All transitions from one state to another. `points` is empty if the edge is not drawn as a line but shown as text in
 * the box of `from`.
 */
export type ChartEdge = {
  readonly id: string;
  readonly from: string;
  readonly to: string | null;
  readonly transitions: readonly Pick<ChartTransition, 'kind' | 'event' | 'guard'>[];
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly label: ChartText;
};
export type ChartDrawing = {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly ChartBox[];
  readonly edges: readonly ChartEdge[];
  /** Events that every state handles unless it has its own transition. They do not change the state. */
  readonly everywhere: ChartText;
};
export type Charts = { readonly worker: ChartDrawing; readonly task: ChartDrawing };

/** A more compact layout of the same states and edges, in the order of the drawing. */
export type Outline = {
  readonly width: number;
  readonly height: number;
  readonly areas: readonly Area[];
  readonly lines: readonly ChartEdge['points'][];
};
export type Outlines = { readonly worker: Outline; readonly task: Outline };

type Points = ChartEdge['points'];

/**
 * Applies an outline to a drawing. Each label is centred on the longest segment of its line; they may overlap, because
 * only a few are shown at a time.
 */
export function drawOutline(drawing: ChartDrawing, { width, height, areas, lines }: Outline): ChartDrawing {
  const within = (middle: number, length: number, whole: number) =>
    Math.max(0, Math.min(whole - length, middle - length / 2));
  return {
    id: drawing.id,
    width,
    height,
    boxes: drawing.boxes.map((box, index) => ({ ...box, ...areas[index] })),
    edges: drawing.edges.map((edge, index) => {
      const points = lines[index] ?? [];
      const [x, y] = middleOf(points);
      const { label } = edge;
      return {
        ...edge,
        points,
        label: { ...label, x: within(x, label.width, width), y: within(y, label.height, height) },
      };
    }),
    everywhere: { x: 0, y: 0, width: 0, height: 0, lines: [] },
  };
}

function middleOf(points: Points): readonly [number, number] {
  let longest = -1;
  let middle: readonly [number, number] = [0, 0];
  for (const [index, [x, y]] of points.entries()) {
    const next = points[index + 1];
    if (next === undefined) break;
    const length = Math.hypot(next[0] - x, next[1] - y);
    if (length > longest) [longest, middle] = [length, [(x + next[0]) / 2, (y + next[1]) / 2]];
  }
  return middle;
}
