/** A laid-out chart, as in `machines.json`, and the same drawn by its outline. Pure. */
import type { ChartState, ChartTransition } from './definition.ts';

export type Area = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
export type ChartBox = ChartState & Area;
export type ChartText = Area & { readonly lines: readonly string[] };
/** All transitions from one state to another. `points` empty: `to` is null or `from`, shown as text in the box. */
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
  /** Events that every state handles, unless it has its own transition; they change no state. */
  readonly everywhere: ChartText;
};
export type Charts = { readonly worker: ChartDrawing; readonly task: ChartDrawing };

/** The states and edges in less room: their areas and lines, in the order of the drawing. */
export type Outline = {
  readonly width: number;
  readonly height: number;
  readonly areas: readonly Area[];
  readonly lines: readonly ChartEdge['points'][];
};
export type Outlines = { readonly worker: Outline; readonly task: Outline };

type Points = ChartEdge['points'];

/**
 * Draws a chart by its outline: the same states and edges, in less room. Labels stand on the middle of the longest part of their line; only a few of them are shown at a time.
 */
export function drawOutline(drawing: ChartDrawing, { width, height, areas, lines }: Outline): ChartDrawing {
  const within = (middle: number, length: number, whole: number) =>
    Math.max(0, Math.min(whole - length, middle - length / 2));
  return {
    id: drawing.id,
    width,
    height,
    boxes: drawing.boxes.map((box, at) => ({ ...box, ...areas[at] })),
    edges: drawing.edges.map((edge, at) => {
      const points = lines[at] ?? [];
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
  for (const [at, [x, y]] of points.entries()) {
    const next = points[at + 1];
    if (next === undefined) break;
    const length = Math.hypot(next[0] - x, next[1] - y);
    if (length > longest) [longest, middle] = [length, [(x + next[0]) / 2, (y + next[1]) / 2]];
  }
  return middle;
}
