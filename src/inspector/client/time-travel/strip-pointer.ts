/**
 * The visible part of the time axis (kept in the address), and the pointer on it: a click jumps, a drag with the mouse
 * selects a part to zoom into, a finger scrubs, the wheel zooms.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Axis } from '../../axes.ts';
import { newestSeq, type Shown, shownRange } from '../data/outline.ts';
import { logRange } from '../data/past.ts';
import { navigate } from '../route.ts';

/**
 * Shows a part of the log, of at least two entries.
 * @param fromSeq may be outside of the log, and in any order with `toSeq`
 * @param isOpen whether to include new entries as they come. Default: if the newest entry is included
 */
export function showRange(fromSeq: number, toSeq: number, isOpen?: boolean): void {
  const [first, last] = logEnds();
  if (last <= first) return;
  const from = Math.min(last - 1, Math.max(first, Math.round(Math.min(fromSeq, toSeq))));
  const to = Math.min(last, Math.max(from + 1, Math.round(Math.max(fromSeq, toSeq))));
  const end = (isOpen ?? to >= last) ? null : to;
  navigate({ range: from <= first && end === null ? null : [from, end] }, 'replace');
}

const logEnds = (): [first: number, last: number] => [Math.max(1, logRange.peek()?.firstSeq ?? 1), newestSeq.peek()];

/**
 * @param x the fixed point in pixels
 * @param factor above 1 shows more: at least one more entry at each end
 */
function zoomAbout(axis: Axis, x: number, factor: number): void {
  const [from, to] = [seqBeyond(axis, x - x * factor), seqBeyond(axis, x + (axis.width - x) * factor)];
  const { fromSeq, toSeq } = shownRange.peek();
  if (factor > 1) showRange(Math.min(from, fromSeq - 1), Math.max(to, toSeq + 1));
  else if (toSeq - fromSeq > 1) showRange(from, to);
}

/** Moves the range by at least one entry, within the log. */
function moveBy(axis: Axis, pixels: number): void {
  const [from, to] = [seqBeyond(axis, pixels), seqBeyond(axis, axis.width + pixels)];
  const { fromSeq, toSeq } = shownRange.peek();
  const [first, last] = logEnds();
  if (pixels < 0 && fromSeq > first) showRange(Math.min(from, fromSeq - 1), Math.min(to, toSeq - 1));
  if (pixels > 0 && toSeq < last) showRange(Math.max(from, fromSeq + 1), Math.max(to, toSeq + 1));
}

/** Estimates the entry at a position outside the screen, where times are unknown, from the density on screen. */
function seqBeyond(axis: Axis, x: number): number {
  if (x >= 0 && x <= axis.width) return axis.seqAt(x);
  const { fromSeq, toSeq }: Shown = shownRange.peek();
  const each = (toSeq - fromSeq) / axis.width;
  return x < 0 ? fromSeq + x * each : toSeq + (x - axis.width) * each;
}

/** Moves the range to an entry that is not on screen. */
export function bringIntoView(seq: number): void {
  const { fromSeq, toSeq } = shownRange.peek();
  if (seq >= fromSeq && seq <= toSeq) return;
  const half = (toSeq - fromSeq) / 2;
  showRange(seq - half, seq + half);
}

/** In pixels from the left. */
type Brush = { readonly from: number; readonly to: number };
type Pointer = {
  readonly brush: Brush | null;
  /** Position of the mouse in pixels, or null if it is elsewhere. */
  readonly hoverX: number | null;
  readonly handlers: Record<'onPointerDown' | 'onPointerMove' | 'onPointerUp' | 'onPointerLeave', Handler> & {
    readonly onPointerCancel: Handler;
  };
};
type Handler = (event: PointerEvent) => void;

/** Minimum distance of a drag, in pixels. */
const dragMin = 6;
const zoomStep = 1.25;

/** @param element its left edge is that of the axis */
export function useStripPointer(
  element: { readonly current: HTMLElement | null },
  axis: Axis | null,
  goTo: (seq: number) => void,
): Pointer {
  // A ref, because press and release may both happen between two renderings.
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
    // Preact's listeners cannot be non-passive, which is needed to keep the page from scrolling.
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
