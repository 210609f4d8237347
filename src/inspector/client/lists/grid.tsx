/** A table of any length: only the rows in view are rendered. Arrow keys move between rows, Enter opens one. */
import type { ComponentChildren, RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FleetStore } from '../data/fleet-store.ts';
import { hasUsage, type Used } from '../data/rows.ts';
import { hrefOf, navigate, route, selection } from '../route.ts';
import { Button, Link } from '../ui/controls.tsx';
import { cost, count } from '../ui/format.ts';
import { Name } from '../ui/text.tsx';
import { heldByMouse } from '../ui/use-held.ts';
import { showAll } from './filters.tsx';
import { isHeld } from './listed-ids.ts';

// The viewport of a table that renders only rows in view, and its keyboard focus, which may move beyond that view.

/** On a phone a row has two lines: why stands below. See styles/narrow-screens.css. */
const narrow = matchMedia('(max-width: 620px)');
/** Every row has this height. */
const rowPx = (): number => (narrow.matches ? 58 : 32);
/** On a phone there is no head. */
const headPx = (): number => (narrow.matches ? 0 : 32);
const heightDefaultPx = 600;

type Viewport = {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly top: number;
  readonly height: number;
  readonly onScroll: () => void;
};

function useViewport(): Viewport {
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

type RowFocus = {
  /** The index of the row in the tab order. */
  readonly active: number;
  /** Always the same function. */
  readonly onFocus: (index: number) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
};

function useRowFocus(viewport: Viewport, ids: readonly string[], open: (id: string) => void): RowFocus {
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

const calm = matchMedia('(prefers-reduced-motion: reduce)');
const glideMs = 150;

/** Rows that changed places glide there, and new ones fade in, so that none teleports. A scrolled list stays as it is. */
function useGlide({ box }: Viewport, ids: readonly string[], first: number, last: number): void {
  const shown = useRef({ ids, places: new Map<string, number>() });
  useLayoutEffect(() => {
    const { ids: before, places } = shown.current;
    shown.current = { ids, places: new Map(ids.slice(first, last).map((id, offset) => [id, first + offset])) };
    if (before === ids || places.size === 0 || calm.matches) return;
    for (const row of box.current?.querySelectorAll<HTMLElement>('tr[data-id]') ?? []) {
      const was = places.get(row.dataset.id ?? '');
      const rows = (was ?? 0) - Number(row.dataset.index);
      if (was === undefined) row.animate([{ opacity: 0 }, {}], glideMs);
      else if (rows !== 0) row.animate([{ transform: `translateY(${rows * rowPx()}px)` }, {}], glideMs);
    }
  });
}

export type Column<Row> = {
  readonly key: string;
  readonly title: string;
  /** Columns of rank 3 are the first to be hidden on a narrow screen, those of rank 1 never are. */
  readonly rank?: 1 | 2 | 3;
  readonly render: (row: Row) => ComponentChildren;
};

type GridProps<Row> = {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly ids: readonly string[];
  readonly rowOf: (id: string) => Row | undefined;
  readonly isOpened: (id: string) => boolean;
  readonly open: (id: string) => void;
};

/** Rows rendered beyond each edge of the view. */
const overscan = 6;

export function Grid<Row>({ label, columns, ids, rowOf, isOpened, open }: GridProps<Row>) {
  const viewport = useViewport();
  const focus = useRowFocus(viewport, ids, open);
  const { top, height } = viewport;
  const first = Math.max(0, Math.floor(top / rowPx()) - overscan);
  const last = Math.min(ids.length, Math.ceil((top + height) / rowPx()) + overscan);
  useGlide(viewport, ids, first, last);
  return (
    <div
      class="grid"
      ref={viewport.box}
      style={{ minHeight: `min(340px, 60vh, ${headPx() + Math.max(1, ids.length) * rowPx()}px)` }}
      onScroll={viewport.onScroll}
      {...held}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: HTML has no grid; grid-focus.ts has its keys */}
      <table role="grid" aria-label={label} aria-rowcount={ids.length + 1} onKeyDown={focus.onKeyDown}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Heading key={column.key} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <Gap rows={first} />}
          {ids.slice(first, last).map((id, offset) => {
            const row = rowOf(id);
            const index = first + offset;
            if (row === undefined) return null;
            const isActive = index === focus.active;
            return (
              <Line
                key={id}
                columns={columns}
                id={id}
                row={row}
                index={index}
                isActive={isActive}
                isOpened={isOpened}
                open={open}
                onFocus={focus.onFocus}
              />
            );
          })}
          {last < ids.length && <Gap rows={ids.length - last} />}
        </tbody>
      </table>
      {ids.length === 0 && (
        <p class="no-match muted" role="status">
          None fits the search and the filters. <Button onClick={showAll}>Show all</Button>
        </p>
      )}
    </div>
  );
}

const held = heldByMouse((isPointed) => {
  isHeld.value = isPointed;
});

type LineProps<Row> = Pick<GridProps<Row>, 'columns' | 'isOpened' | 'open'> & {
  readonly id: string;
  readonly row: Row;
  readonly index: number;
  readonly isActive: boolean;
  readonly onFocus: (index: number) => void;
};

/** It reads a signal, so it is rendered only when a property changes: all of them are stable while the row is. */
function Line<Row>({ columns, id, row, index, isActive, isOpened, open, onFocus }: LineProps<Row>) {
  return (
    <tr
      data-index={index}
      data-id={id}
      aria-rowindex={index + 2}
      aria-selected={isOpened(id)}
      tabIndex={isActive ? 0 : -1}
      onFocus={() => onFocus(index)}
      onClick={(event) => {
        if (event.target instanceof HTMLAnchorElement) return;
        // A click that ends a text selection does not open the row.
        if (String(getSelection()) === '') open(id);
      }}
    >
      {columns.map((column) => (
        <td key={column.key} class={`c-${column.key} rank-${column.rank ?? 1}`}>
          {column.render(row)}
        </td>
      ))}
    </tr>
  );
}

const Gap = ({ rows }: { rows: number }) => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
  <tr aria-hidden="true" class="gap" style={{ height: `${rows * rowPx()}px` }} />
);

/** A click sorts ascending, the next descending, the third not at all. */
function Heading<Row>({ column: { key, title, rank = 1 } }: { column: Column<Row> }) {
  const { sort } = route.value;
  const direction = sort === key ? 'ascending' : sort === `-${key}` ? 'descending' : 'none';
  const next = direction === 'ascending' ? `-${key}` : direction === 'descending' ? '' : key;
  return (
    <th scope="col" aria-sort={direction} class={`c-${key} rank-${rank}`}>
      <a
        href={hrefOf({ sort: next })}
        onClick={(event) => {
          event.preventDefault();
          navigate({ sort: next }, 'replace');
        }}
      >
        {title}
        <span aria-hidden="true">{direction === 'ascending' ? ' ↑' : direction === 'descending' ? ' ↓' : ''}</span>
      </a>
    </th>
  );
}

/** For `rowOf`: reads the version during the table's rendering, so that changed rows render the table alone. */
export function rowIn<Row>({ version }: FleetStore, rows: ReadonlyMap<string, Row>, id: string): Row | undefined {
  void version.value;
  return rows.get(id);
}

// Table cells that several lists share.

/** Not in the tab order: the row is, and Enter opens it. */
export const ActorLink = ({ entity, id }: { entity: 'worker' | 'task'; id: string }) => (
  <Link to={selection(entity, id)} tabIndex={-1}>
    <Name value={id} />
  </Link>
);

export const NameCell = ({ value }: { value: string | null }) =>
  value === null ? <NoValue /> : <Name value={value} />;

/** What was used, as the agent reports it. */
export const Cost = ({ row }: { row: Used }) =>
  hasUsage(row) ? <span title={`${count(row.tokens)} tokens`}>{cost(row)}</span> : <NoValue />;

/** Leaves out the cost where nobody reports it. */
export const columnsFor = <Row,>(columns: readonly Column<Row>[], isCostKnown: boolean): readonly Column<Row>[] =>
  isCostKnown ? columns : columns.filter(({ key }) => key !== 'cost');

export const NoValue = () => (
  <span class="muted" aria-hidden="true">
    –
  </span>
);
