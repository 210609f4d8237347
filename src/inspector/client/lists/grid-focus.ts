/** The viewport of a table that renders only rows in view, and its keyboard focus, which may move beyond that view. */
import type { RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** On a phone a row has two lines: why stands below. See styles/narrow-screens.css. */
const narrow = matchMedia('(max-width: 620px)');
/** Every row has this height. */
export const rowPx = (): number => (narrow.matches ? 58 : 34);
/** On a phone there is no head. */
export const headPx = (): number => (narrow.matches ? 0 : 34);
const heightDefaultPx = 600;

type Viewport = {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly top: number;
  readonly height: number;
  readonly onScroll: () => void;
};

export function useViewport(): Viewport {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(heightDefaultPx);
  useEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? heightDefaultPx));
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return { box, top, height, onScroll: () => setTop(box.current?.scrollTop ?? 0) };
}

export type RowFocus = {
  /** The index of the row in the tab order. */
  readonly active: number;
  /** Always the same function. */
  readonly onFocus: (index: number) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
};

export function useRowFocus(viewport: Viewport, ids: readonly string[], open: (id: string) => void): RowFocus {
  const { box, height } = viewport;
  const [active, setActive] = useState(0);
  /** A ref beside the state, because keys may come faster than frames. */
  const current = useRef(0);
  /** The focus is due as soon as the current row is rendered. */
  const isDue = useRef(false);
  useLayoutEffect(() => {
    if (!isDue.current) return;
    const row = box.current?.querySelector<HTMLElement>(`tr[data-index="${current.current}"]`);
    if (row == null) return;
    isDue.current = false;
    row.focus({ preventScroll: true });
  });
  const moveTo = (index: number) => {
    current.current = Math.max(0, Math.min(ids.length - 1, index));
    isDue.current = true;
    setActive(current.current);
    if (box.current === null) return;
    scrollIntoView(box.current, current.current);
    viewport.onScroll();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const focused = event.target instanceof Element ? event.target.closest<HTMLElement>('tr[data-index]') : null;
    // The focused row may have moved since; but a step that is still due counts from where it leads.
    const from = focused === null || isDue.current ? current.current : Number(focused.dataset.index);
    const at = Math.min(from, ids.length - 1);
    const target = targetOf(event.key, at, ids.length, Math.max(1, Math.floor(height / rowPx()) - 2));
    const id = ids[at];
    if (target !== undefined) moveTo(target);
    else if (event.key === 'Enter' && focused !== null && id !== undefined) open(id);
    else return;
    event.preventDefault();
  };
  const onFocus = useCallback((index: number) => {
    current.current = index;
    setActive(index);
  }, []);
  return { active: Math.min(active, Math.max(0, ids.length - 1)), onFocus, onKeyDown };
}

const targetOf = (key: string, at: number, count: number, page: number): number | undefined =>
  ({
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: count - 1,
  })[key];

/** The head is sticky and covers the first row of the box. */
function scrollIntoView(box: HTMLElement, index: number): void {
  const room = box.clientHeight - headPx();
  const [top, bottom] = [index * rowPx(), (index + 1) * rowPx()];
  if (top < box.scrollTop) box.scrollTop = top;
  else if (bottom > box.scrollTop + room) box.scrollTop = bottom - room;
}
