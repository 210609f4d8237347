/** The shapes of a laid-out chart, as in `machines.json`. Types only, for the service, the build and the page. */
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

/** A chart drawn by its outline: the same states and edges, in less room. Pure. */
type Points = ChartEdge['points'];

/** Labels stand on the middle of the longest part of their line; only a few of them are shown at a time. */
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

// Which edge a transition took. Only its first and last state are known; `always` may have led through others.

/** `from` and `to`: names of states. `guard`: of the latest decision, where it is known. */
export type TakenTransition = {
  readonly from: string;
  readonly to: string;
  readonly event: string;
  readonly guard?: string | null | undefined;
};

/** The last edge that was taken. Null: the chart has none for it. */
export function edgeTaken({ edges, boxes }: ChartDrawing, { from, to, event }: TakenTransition): ChartEdge | null {
  const idOf = (name: string) => boxes.find((box) => box.name === name && box.kind !== 'region')?.id ?? '';
  const [start, end] = [idOf(from), idOf(to)];
  const first = edges.filter((edge) => edge.from === start && edge.transitions.some((it) => it.event === event));
  const direct = first.find((edge) => edge.to === end && end !== start);
  if (direct !== undefined) return direct;
  const isAlwaysToEnd = (edge: ChartEdge) => edge.to === end && edge.transitions.some(({ kind }) => kind === 'always');
  for (const edge of first) {
    const next = edges.find((it) => it.from === (edge.to ?? start) && isAlwaysToEnd(it));
    if (next !== undefined) return next;
  }
  return first.find((edge) => (edge.to ?? start) === end) ?? null;
}

/**
 * Says why an edge was taken: the event, or the guard that decided; all guards that may have, where it is not known
 * which.
 */
export function reasonTaken({ transitions }: ChartEdge, { event, guard }: TakenTransition): string {
  const ofEvent = transitions.filter((it) => it.event === event);
  const ofGuard = transitions.filter((it) => it.kind === 'always' && it.guard === guard);
  const found = [ofEvent, ofGuard].find(({ length }) => length > 0) ?? transitions.filter((it) => it.kind === 'always');
  const texts = found.map((it) => [it.event, it.guard === null ? '' : `[${it.guard}]`].filter(Boolean).join(' '));
  return [...new Set(texts)].filter(Boolean).join(' or ');
}

/** The part of a drawing that is shown: in units of the drawing, at `scale` pixels each. */
export type View = { readonly x: number; readonly y: number; readonly scale: number };
export type Size = { readonly width: number; readonly height: number };
type Point = { readonly x: number; readonly y: number };

export const scales = { min: 0.2, max: 3 } as const;
const fitScaleMax = 1;
/** The scale at which labels have 10 px, used where the whole does not fit. */
export const readableScale = 0.85;

/** Shows the whole drawing, or, where that would be smaller than `scaleMin`, the surroundings of `around`. */
export function fitView(drawing: ChartDrawing, room: Size, around: Area | undefined, scaleMin: number): View {
  const scale = fitScale(drawing, room);
  if (fitsWhole(drawing, room, scaleMin)) return centred(drawing, room, scale, { x: 0, y: 0, ...sizeOf(drawing) });
  return centred(drawing, room, readableScale, around ?? drawing.boxes[0] ?? { x: 0, y: 0, width: 0, height: 0 });
}

/** Tells whether the whole drawing can be seen at `scaleMin` or more. */
export const fitsWhole = (drawing: Size, room: Size, scaleMin: number): boolean => fitScale(drawing, room) >= scaleMin;
const fitScale = (drawing: Size, room: Size): number =>
  Math.min(room.width / drawing.width, room.height / drawing.height, fitScaleMax);

const sizeOf = ({ width, height }: Size): Size => ({ width, height });

/** Puts `area` in the middle, but leaves no empty room where there is more to see. */
function centred(drawing: Size, room: Size, scale: number, area: Area): View {
  const place = (at: number, length: number, whole: number, shown: number) => {
    const middle = at + length / 2 - shown / 2;
    return whole <= shown ? (whole - shown) / 2 : Math.max(0, Math.min(whole - shown, middle));
  };
  return {
    x: place(area.x, area.width, drawing.width, room.width / scale),
    y: place(area.y, area.height, drawing.height, room.height / scale),
    scale,
  };
}

/** @param at the point of the room, in pixels, that stays where it is */
export function zoomAbout(view: View, factor: number, at: Point): View {
  const scale = Math.min(scales.max, Math.max(scales.min, view.scale * factor));
  return { x: view.x + at.x / view.scale - at.x / scale, y: view.y + at.y / view.scale - at.y / scale, scale };
}

export const panBy = (view: View, dx: number, dy: number): View => ({
  ...view,
  x: view.x - dx / view.scale,
  y: view.y - dy / view.scale,
});

/** Moves the view as little as needed for `area` to be seen. */
export function showArea(view: View, room: Size, { x, y, width, height }: Area): View {
  const shift = (at: number, length: number, from: number, shown: number) =>
    at < from ? at - 8 : at + length > from + shown ? at + length - shown + 8 : from;
  return {
    ...view,
    x: shift(x, width, view.x, room.width / view.scale),
    y: shift(y, height, view.y, room.height / view.scale),
  };
}

/** The room of a number such as ×1234 on an edge. */
const timesRoom = { width: 46, height: 24 };
const fractions = [0.5, 0.35, 0.65, 0.2, 0.8];

/**
 * Finds a place for a number on each of these edges of an outline: off the states and the numbers of other edges, and crossed by as
 * few other edges as can be.
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
        const others = edges.filter((it) => it !== edge).flatMap(segmentsOf);
        const costOf = (area: Area): number =>
          count(states, area) * 100 + count(placed, area) * 50 + others.filter((it) => overlap(it, area)).length;
        const [best] = segmentsOf(edge)
          .flatMap(({ ends: [[x, y], [toX, toY]] }) =>
            fractions.map((part) => [x + (toX - x) * part, y + (toY - y) * part] as const),
          )
          .map((at) => ({ at, area: areaAround(at) }))
          .map((it) => ({ ...it, cost: costOf(it.area) }))
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

const count = (areas: readonly Area[], area: Area): number => areas.filter((it) => overlap(it, area)).length;

const overlap = (a: Area, b: Area): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** Edges run at right angles, so each part of one is an area without a width or a height. */
const segmentsOf = ({ points }: ChartEdge) =>
  points.slice(1).map((end, at) => {
    const start = points[at] ?? end;
    const [x, y] = [Math.min(start[0], end[0]), Math.min(start[1], end[1])];
    return {
      x,
      y,
      width: Math.abs(start[0] - end[0]),
      height: Math.abs(start[1] - end[1]),
      ends: [start, end] as const,
    };
  });
