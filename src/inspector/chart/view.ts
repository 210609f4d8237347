/** Which part of a drawing is shown: fitted, zoomed and moved. Pure. */
import type { Area, ChartDrawing } from './drawing.ts';

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
