/** Places the numbers that show how often edges were taken. Pure. */
import type { Area, ChartDrawing, ChartEdge } from './drawing.ts';

/** Size of a number such as ×1234 on an edge. */
const timesRoom = { width: 46, height: 24 };
const fractions = [0.5, 0.35, 0.65, 0.2, 0.8];

/**
 * Finds a position for a number on each taken edge of an outline. Avoids states first, then other numbers, then
 * crossing edges.
 */
export function placeTimes(
  { boxes, edges }: ChartDrawing,
  taken: ReadonlySet<string>,
): ReadonlyMap<string, readonly [x: number, y: number]> {
  const states: Area[] = boxes.filter(({ kind }) => kind !== 'region');
  const placed: Area[] = [];
  return new Map(
    edges
      .filter(({ id, points }) => taken.has(id) && points.length > 1)
      .map((edge) => {
        const others = edges.filter((other) => other !== edge).flatMap(segmentsOf);
        const costOf = (area: Area): number =>
          count(states, area) * 100 +
          count(placed, area) * 50 +
          others.filter((segment) => overlap(segment, area)).length;
        const [best] = segmentsOf(edge)
          .flatMap(({ ends: [[x, y], [toX, toY]] }) =>
            fractions.map((part) => [x + (toX - x) * part, y + (toY - y) * part] as const),
          )
          .map((point) => ({ at: point, area: areaAround(point) }))
          .map((candidate) => ({ ...candidate, cost: costOf(candidate.area) }))
          .sort((a, b) => a.cost - b.cost);
        if (best !== undefined) placed.push(best.area);
        return [edge.id, best?.at ?? [edge.label.x, edge.label.y]] as const;
      }),
  );
}

const areaAround = ([x, y]: readonly [number, number]): Area => ({
  x: x - timesRoom.width / 2,
  y: y - timesRoom.height / 2,
  ...timesRoom,
});

const count = (areas: readonly Area[], area: Area): number => areas.filter((other) => overlap(other, area)).length;

const overlap = (a: Area, b: Area): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** Edges run at right angles, so each segment is an area without width or height. */
const segmentsOf = ({ points }: ChartEdge) =>
  points.slice(1).map((end, index) => {
    const start = points[index] ?? end;
    const [x, y] = [Math.min(start[0], end[0]), Math.min(start[1], end[1])];
    return {
      x,
      y,
      width: Math.abs(start[0] - end[0]),
      height: Math.abs(start[1] - end[1]),
      ends: [start, end] as const,
    };
  });
