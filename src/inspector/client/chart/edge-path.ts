/** SVG paths for edges. */
import type { ChartEdge } from '../../chart/drawing.ts';

type Points = ChartEdge['points'];
const cornerRadiusMax = 6;

/** Right angles, with slightly rounded corners. */
export function linePath(points: Points): string {
  return points
    .map(([x, y], at) => {
      const before = points[at - 1];
      const after = points[at + 1];
      if (before === undefined) return `M${x},${y}`;
      if (after === undefined) return `L${x},${y}`;
      const [enter, leave] = [towards([x, y], before), towards([x, y], after)];
      return `L${enter.join()} Q${x},${y} ${leave.join()}`;
    })
    .join(' ');
}

/** A point on the way from one to another, at most halfway. */
function towards([x, y]: Points[number], [toX, toY]: Points[number]): readonly [number, number] {
  const length = Math.hypot(toX - x, toY - y);
  const part = length === 0 ? 0 : Math.min(cornerRadiusMax, length / 2) / length;
  return [x + (toX - x) * part, y + (toY - y) * part];
}

/** The arrow head at the end. */
export function headPath(points: Points): string {
  const [end, before] = [points.at(-1), points.at(-2)];
  if (end === undefined || before === undefined) return '';
  const angle = Math.atan2(end[1] - before[1], end[0] - before[0]);
  const side = (turn: number) => `${end[0] - 9 * Math.cos(angle + turn)},${end[1] - 9 * Math.sin(angle + turn)}`;
  return `M${end.join()} L${side(0.42)} L${side(-0.42)} Z`;
}
