/**
 * The view of a chart: fits and follows the active state until the user moves it, and then stays. The wheel and two
 * fingers zoom around the pointer; one finger or the mouse drags.
 */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ChartBox, ChartDrawing } from '../../chart/drawing.ts';
import { fitsWhole, fitView, panBy, type Size, showArea, type View, zoomAbout } from '../../chart/view.ts';

export type ChartView = {
  readonly view: View;
  readonly room: Size;
  /** Whether it fits and follows, because the user has not moved it. */
  readonly isFollowing: boolean;
  /** Whether the whole chart fits. Otherwise the view shows the active state and its surroundings. */
  readonly isWhole: boolean;
  readonly zoom: (factor: number) => void;
  readonly fit: () => void;
  readonly show: (box: ChartBox) => void;
};

/** The moved views by key. Kept outside of the component, which is removed while another section is shown. */
const movedViews = new Map<string, View>();
const movedViewsMax = 100;
/** A shorter movement of the pointer is a click. */
const dragMinPx = 4;

export function useView(
  svg: RefObject<SVGSVGElement | null>,
  drawing: ChartDrawing,
  active: ChartBox | undefined,
  key: string,
  fitScaleMin: number,
): ChartView {
  const room = useSize(svg);
  const [, setMoved] = useState<View | null>(null);
  const fitted = () => fitView(drawing, room, active, fitScaleMin);
  const moved = movedViews.get(key) ?? null;
  const view = moved ?? fitted();
  const latest = useRef(view);
  latest.current = view;
  const move = (next: View | null) => {
    if (next === null) movedViews.delete(key);
    else movedViews.set(key, next);
    if (movedViews.size > movedViewsMax) movedViews.delete(movedViews.keys().next().value as string);
    latest.current = next ?? fitted();
    setMoved(next);
  };
  useGestures(svg, latest, move);
  return {
    view,
    room,
    isFollowing: moved === null,
    isWhole: fitsWhole(drawing, room, fitScaleMin),
    zoom: (factor) => move(zoomAbout(latest.current, factor, { x: room.width / 2, y: room.height / 2 })),
    fit: () => move(null),
    show: (box) => {
      const next = showArea(latest.current, room, box);
      if (next.x !== latest.current.x || next.y !== latest.current.y) move(next);
    },
  };
}

function useSize(element: RefObject<Element | null>): Size {
  const [size, setSize] = useState<Size>({ width: 800, height: 500 });
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const { clientWidth: width = 0, clientHeight: height = 0 } = element.current ?? {};
      if (width > 0 && height > 0) setSize({ width, height });
    });
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return size;
}

type Latest = { readonly current: View };

function useGestures(svg: RefObject<SVGSVGElement | null>, latest: Latest, move: (view: View) => void): void {
  const moving = useRef(move);
  moving.current = move;
  useEffect(() => {
    const element = svg.current;
    if (element === null) return;
    const pointers = new Map<number, { x: number; y: number }>();
    const pointOf = ({ clientX, clientY }: MouseEvent) => {
      const { left, top } = element.getBoundingClientRect();
      return { x: clientX - left, y: clientY - top };
    };
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      // A pinch on a touchpad is reported as wheel events with Ctrl, in smaller steps.
      const factor = Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015));
      moving.current(zoomAbout(latest.current, factor, pointOf(event)));
    };
    let dragged = 0;
    const onDown = (event: PointerEvent) => {
      if (pointers.size === 0) dragged = 0;
      pointers.set(event.pointerId, pointOf(event));
    };
    const onMove = (event: PointerEvent) => {
      const before = pointers.get(event.pointerId);
      if (before === undefined) return;
      const now = pointOf(event);
      const [dx, dy] = [now.x - before.x, now.y - before.y];
      dragged += Math.hypot(dx, dy);
      if (dragged < dragMinPx) return;
      if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      pointers.set(event.pointerId, now);
      if (other === undefined) return moving.current(panBy(latest.current, dx, dy));
      const factor = distance(now, other) / Math.max(1, distance(before, other));
      const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
      moving.current(panBy(zoomAbout(latest.current, factor, middle), dx / 2, dy / 2));
    };
    const onUp = (event: PointerEvent) => void pointers.delete(event.pointerId);
    // A drag that ends on a state must not pick it.
    const onClick = (event: MouseEvent) => {
      if (dragged >= dragMinPx) event.stopPropagation();
      dragged = 0;
    };
    const given = new AbortController();
    const { signal } = given;
    element.addEventListener('wheel', onWheel, { passive: false, signal });
    element.addEventListener('pointerdown', onDown, { signal });
    element.addEventListener('pointermove', onMove, { signal });
    for (const type of ['pointerup', 'pointercancel'] as const) element.addEventListener(type, onUp, { signal });
    element.addEventListener('click', onClick, { capture: true, signal });
    return () => given.abort();
  }, []);
}

const distance = (a: { x: number; y: number }, b: { x: number; y: number }): number => Math.hypot(a.x - b.x, a.y - b.y);
