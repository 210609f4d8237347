/** A chart drawn by its outline: the same states and edges, in less room. Pure. */
import type { ChartDrawing, ChartEdge, Outline } from './drawing.ts';

type Points = ChartEdge['points'];

/** Labels stand on the middle of the longest part of their line; only a few of them are shown at a time. */
export function drawOutline(drawing: ChartDrawing, { width, height, areas, lines }: Outline): ChartDrawing {
  const within = (middle: number, length: number, whole: number) =>
    Math.max(0, Math.min(whole - length, middle - length / 2));
  return {
    ...{ id: drawing.id, width, height },
    boxes: drawing.boxes.map((box, at) => ({ ...box, ...areas[at] })),
    edges: drawing.edges.map((edge, at) => {
      const points = lines[at] ?? [];
      const [x, y] = middleOf(points);
      const { label } = edge;
      return {
        ...{ ...edge, points },
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
