/** The rows of a table that are in view, and the keyboard focus, which may move beyond the view. */

import { signal } from '@preact/signals';
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';

import { isPrinting } from '../ui/printing.ts';

/** On a phone a row has two lines. See styles/narrow-screens.css. */
const narrow = matchMedia('(max-width: 620px)');
/** The height of every row. */
export const rowPx = (): number => (narrow.matches ? 58 : 32);
/** The height of the sticky head. On a phone there is none. */
export const headPx = (): number => (narrow.matches ? 0 : 32);
/** Rows rendered beyond each edge of the view. */
const overscan = 6;
/** The height of the view until it is measured, in pixels. */
const heightDefaultPx = 600;

type VirtualRows = {
  readonly box: RefObject<HTMLDivElement | null>;
  /** The rows to render: from `first` up to, but excluding, `last`. */
  readonly first: number;
  readonly last: number;
  /** The space above and below them, in pixels. */
  readonly abovePx: number;
  readonly belowPx: number;
  /** How many rows a page key moves. */
  readonly page: number;
  readonly scrollTo: (index: number) => void;
};

export function useVirtualRows(count: number): VirtualRows {
  const box = useRef<HTMLDivElement>(null);
  const [, renderAgain] = useReducer((times: number) => times + 1, 0);
  const options = {
    count,
    overscan,
    estimateSize: rowPx,
    // Compensates for the sticky head, which covers the top of the view.
    scrollPaddingEnd: headPx(),
    initialRect: { width: 0, height: heightDefaultPx },
    getScrollElement: () => box.current,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => renderAgain(0),
  };
  const [rows] = useState(() => new Virtualizer<HTMLDivElement, HTMLTableRowElement>(options));
  rows.setOptions(options);
  useLayoutEffect(() => rows._didMount(), []);
  useLayoutEffect(() => rows._willUpdate());
  useEffect(() => {
    narrow.addEventListener('change', rows.measure);
    return () => narrow.removeEventListener('change', rows.measure);
  }, []);
  const isWhole = isPrinting.value;
  const items = rows.getVirtualItems();
  const [top, bottom] = [items[0], items.at(-1)];
  return {
    box,
    first: isWhole ? 0 : (top?.index ?? 0),
    last: isWhole ? count : bottom === undefined ? 0 : bottom.index + 1,
    abovePx: isWhole ? 0 : (top?.start ?? 0),
    belowPx: isWhole ? 0 : rows.getTotalSize() - (bottom?.end ?? 0),
    page: Math.max(1, Math.floor((rows.scrollRect?.height ?? heightDefaultPx) / rowPx()) - 2),
    scrollTo: (index) => rows.scrollToIndex(index),
  };
}

/** What the search field above the table asks for. */
export const firstRowWanted = signal<'focus' | 'open' | null>(null);

type RowFocus = {
  /** The index of the row in the tab order. */
  readonly active: number;
  /** A stable function. */
  readonly onFocus: (index: number) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
};

/** Arrow keys move between rows, Enter opens one. */
export function useRowFocus(rows: VirtualRows, ids: readonly string[], open: (id: string) => void): RowFocus {
  const { box, page, scrollTo } = rows;
  const [active, setActive] = useState(0);
  /** A ref in addition to the state, because keys may come faster than frames. */
  const current = useRef(0);
  /** Whether to focus the current row once it is rendered. */
  const isDue = useRef(false);
  const wanted = firstRowWanted.value;
  useLayoutEffect(() => {
    if (wanted !== null) {
      firstRowWanted.value = null;
      moveTo(0);
      const [first] = ids;
      if (wanted === 'open' && first !== undefined) open(first);
    }
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
    scrollTo(current.current);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const focused = event.target instanceof Element ? event.target.closest<HTMLElement>('tr[data-index]') : null;
    // The focused row may have moved, so read its index. A pending step counts from its target.
    const from = focused === null || isDue.current ? current.current : Number(focused.dataset.index);
    const index = Math.min(from, ids.length - 1);
    const target = targetOf(event.key, index, ids.length, page);
    const id = ids[index];
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

const targetOf = (key: string, index: number, count: number, page: number): number | undefined =>
  ({
    ArrowDown: index + 1,
    ArrowUp: index - 1,
    PageDown: index + page,
    PageUp: index - page,
    Home: 0,
    End: count - 1,
  })[key];
