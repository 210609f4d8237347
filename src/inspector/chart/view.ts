/** The visible part of a drawing: fitting, zooming and panning. Pure. */
import type { Area, ChartDrawing } from './drawing.ts';

/** The top left corner of the visible part in units of the drawing, each of `scale` pixels. */
export type View = { readonly x: number; readonly y: number; readonly scale: number };
export type Size = { readonly width: number; readonly height: number };
type Point = { readonly x: number; readonly y: number };

export const scales = { min: 0.2, max: 3 } as const;
const fitScaleMax = 1;
/** The scale at which labels have 10 px. Used if the whole drawing does not fit. */
export const readableScale = 0.85;

/** Shows the whole drawing, or the surroundings of `around` if the scale would be below `scaleMin`. */
export function fitView(drawing: ChartDrawing, room: Size, around: Area | undefined, scaleMin: number): View {
  const scale = fitScale(drawing, room);
  if (fitsWhole(drawing, room, scaleMin)) return centred(drawing, room, scale, { x: 0, y: 0, ...sizeOf(drawing) });
  return centred(drawing, room, readableScale, around ?? drawing.boxes[0] ?? { x: 0, y: 0, width: 0, height: 0 });
}

/** Whether the whole drawing fits at `scaleMin` or larger. */
export const fitsWhole = (drawing: Size, room: Size, scaleMin: number): boolean => fitScale(drawing, room) >= scaleMin;
const fitScale = (drawing: Size, room: Size): number =>
  Math.min(room.width / drawing.width, room.height / drawing.height, fitScaleMax);

const sizeOf = ({ width, height }: Size): Size => ({ width, height });

/** Centres `area`, but shows no empty space where there is more of the drawing. */
function centred(drawing: Size, room: Size, scale: number, area: Area): View {
  const place = (start: number, length: number, whole: number, shown: number) => {
    const middle = start + length / 2 - shown / 2;
    return whole <= shown ? (whole - shown) / 2 : Math.max(0, Math.min(whole - shown, middle));
  };
  return {
    x: place(area.x, area.width, drawing.width, room.width / scale),
    y: place(area.y, area.height, drawing.height, room.height / scale),
    scale,
  };
}

/** @param point the fixed point of the zoom, in pixels of the viewport */
export function zoomAbout(view: View, factor: number, point: Point): View {
  const scale = Math.min(scales.max, Math.max(scales.min, view.scale * factor));
  return {
    x: view.x + point.x / view.scale - point.x / scale,
    y: view.y + point.y / view.scale - point.y / scale,
    scale,
  };
}

export const panBy = (view: View, dx: number, dy: number): View => ({
  ...view,
  x: view.x - dx / view.scale,
  y: view.y - dy / view.scale,
});

/** Moves the view as little as needed to make `area` visible. */
export function showArea(view: View, room: Size, { x, y, width, height }: Area): View {
  const shift = (start: number, length: number, from: number, shown: number) =>
    start < from ? start - 8 : start + length > from + shown ? start + length - shown + 8 : from;
  return {
    ...view,
    x: shift(x, width, view.x, room.width / view.scale),
    y: shift(y, height, view.y, room.height / view.scale),
  };
}
