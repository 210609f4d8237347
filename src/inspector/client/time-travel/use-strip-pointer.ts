/** The pointer on the time axis: a click jumps, a drag with the mouse marks a part to zoom into, a finger scrubs, the wheel zooms. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Axis } from '../../time-axis.ts';
import { shownRange } from '../data/outline.ts';
import { moveBy, showRange, zoomAbout } from './zoom.ts';

/** Both in pixels from the left. */
export type Brush = { readonly from: number; readonly to: number };
type Pointer = {
  readonly brush: Brush | null;
  /** Where the mouse is; null: elsewhere. */
  readonly hoverX: number | null;
  readonly handlers: Record<'onPointerDown' | 'onPointerMove' | 'onPointerUp' | 'onPointerLeave', Handler> & {
    readonly onPointerCancel: Handler;
  };
};
type Handler = (event: PointerEvent) => void;

/** Less is a click. */
const dragMin = 6;
const zoomStep = 1.25;

/** @param element whose left edge is that of the axis */
export function useStripPointer(
  element: { readonly current: HTMLElement | null },
  axis: Axis | null,
  goTo: (seq: number) => void,
): Pointer {
  // A fast hand does all of it between two renderings.
  const pressed = useRef<Brush | null>(null);
  const [brush, showBrush] = useState<Brush | null>(null);
  const setBrush = (next: Brush | null) => {
    pressed.current = next;
    showBrush(next);
  };
  const [hoverX, setHoverX] = useState<number | null>(null);
  const latest = useRef(axis);
  latest.current = axis;
  const xOf = ({ clientX }: MouseEvent) => clientX - (element.current?.getBoundingClientRect().left ?? 0);
  const jumpTo = (x: number) => {
    const now = latest.current;
    if (now !== null) goTo(now.seqAt(Math.min(now.width, Math.max(0, x))));
  };
  useEffect(() => {
    const strip = element.current;
    const onWheel = (event: WheelEvent) => {
      const now = latest.current;
      if (now === null) return;
      event.preventDefault();
      const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (isSideways) moveBy(now, event.deltaX || event.deltaY);
      else zoomAbout(now, xOf(event), event.deltaY > 0 ? zoomStep : 1 / zoomStep);
    };
    // The page would scroll: Preact's own listeners cannot say that they prevent it.
    strip?.addEventListener('wheel', onWheel, { passive: false });
    return () => strip?.removeEventListener('wheel', onWheel);
  }, [element.current]);
  const end = (event: PointerEvent) => {
    const [marked, now] = [pressed.current, latest.current];
    setBrush(null);
    if (marked === null || now === null) return;
    const to = xOf(event);
    if (Math.abs(to - marked.from) < dragMin) jumpTo(to);
    else if (event.pointerType === 'mouse')
      showRange(
        now.seqAt(marked.from),
        now.seqAt(to),
        shownRange.peek().isOpen && Math.max(marked.from, to) >= now.width,
      );
  };
  return {
    brush: brush !== null && Math.abs(brush.to - brush.from) >= dragMin ? brush : null,
    hoverX,
    handlers: {
      onPointerDown(event) {
        if (event.button !== 0) return;
        element.current?.setPointerCapture(event.pointerId);
        setBrush({ from: xOf(event), to: xOf(event) });
      },
      onPointerMove(event) {
        const x = xOf(event);
        if (event.pointerType === 'mouse') setHoverX(x);
        if (pressed.current === null) return;
        if (event.pointerType === 'mouse') setBrush({ ...pressed.current, to: x });
        else jumpTo(x);
      },
      onPointerUp: end,
      onPointerLeave: () => setHoverX(null),
      onPointerCancel: () => setBrush(null),
    },
  };
}
