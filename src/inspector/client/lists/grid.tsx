/** A table of any length that renders only the rows in view. Arrow keys move between rows, Enter opens one. */
import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { FleetStore } from '../data/fleet-store.ts';
import type { Used } from '../data/rows.ts';
import { hrefOf, navigate, route, selection } from '../route.ts';
import { Button, Link } from '../ui/controls.tsx';
import { compact, count, dollars } from '../ui/format.ts';
import { Name } from '../ui/text.tsx';
import { heldByMouse } from '../ui/use-held.ts';
import { showAll } from './filters.tsx';
import { isHeld } from './listed-ids.ts';
import { directionOf } from './order.ts';
import { headPx, rowPx, useRowFocus, useVirtualRows } from './virtual-rows.ts';

const calm = matchMedia('(prefers-reduced-motion: reduce)');
const glideMs = 150;

/** Animates rows that changed places, and fades new ones in. Scrolling is not animated. */
function useGlide(box: RefObject<HTMLElement | null>, ids: readonly string[], first: number, last: number): void {
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
  /** On narrow screens, columns of rank 3 are hidden first, those of rank 1 never. Default: 1. */
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

export function Grid<Row>({ label, columns, ids, rowOf, isOpened, open }: GridProps<Row>) {
  const rows = useVirtualRows(ids.length);
  const focus = useRowFocus(rows, ids, open);
  const { box, first, last, abovePx, belowPx } = rows;
  useGlide(box, ids, first, last);
  return (
    <div
      class="grid"
      ref={box}
      style={{ minHeight: `min(340px, 60vh, ${headPx() + Math.max(1, ids.length) * rowPx()}px)` }}
      {...held}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: HTML has no grid; virtual-rows.ts has its keys */}
      <table role="grid" aria-label={label} aria-rowcount={ids.length + 1} onKeyDown={focus.onKeyDown}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Heading key={column.key} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {abovePx > 0 && <Gap px={abovePx} />}
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
          {belowPx > 0 && <Gap px={belowPx} />}
        </tbody>
      </table>
      {ids.length === 0 && (
        <p class="no-match muted" role="status">
          No matches. <Button onClick={showAll}>Show all</Button>
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

/** Re-rendered only when a property changes. All properties are stable while the row is. */
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

const Gap = ({ px }: { px: number }) => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
  <tr aria-hidden="true" class="gap" style={{ height: `${px}px` }} />
);

const arrows = { ascending: ' ↑', descending: ' ↓', other: ' ↕', none: '' } as const;

/**
 * The first click sorts by what an operator looks for first, the second reverses that, the third removes the sorting.
 */
function Heading<Row>({ column: { key, title, rank = 1 } }: { column: Column<Row> }) {
  const { sort } = route.value;
  const direction = directionOf(key, sort);
  const next = sort === key ? `-${key}` : sort === `-${key}` ? '' : key;
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
        <span aria-hidden="true">{arrows[direction]}</span>
      </a>
    </th>
  );
}

/** Use in `rowOf`: reads the version while the table renders, so that changed rows re-render only the table. */
export function rowIn<Row>({ version }: FleetStore, rows: ReadonlyMap<string, Row>, id: string): Row | undefined {
  void version.value;
  return rows.get(id);
}

/** Not in the tab order, because the row is and Enter opens it. */
export const ActorLink = ({ entity, id }: { entity: 'worker' | 'task'; id: string }) => (
  <Link to={selection(entity, id)} tabIndex={-1}>
    <Name value={id} />
  </Link>
);

export const NameCell = ({ value }: { value: string | null }) =>
  value === null ? <NoValue /> : <Name value={value} />;

/** Usage as reported by the agent. */
export const Cost = ({ row: { usd } }: { row: Used }) => (usd > 0 ? dollars(usd) : <NoValue />);

export const Tokens = ({ row: { tokens } }: { row: Used }) =>
  tokens > 0 ? <span title={`${count(tokens)} tokens`}>{compact(tokens)}</span> : <NoValue />;

/** Removes columns that would be empty. */
export const columnsWithout = <Row,>(
  columns: readonly Column<Row>[],
  isEmpty: Readonly<Record<string, boolean>>,
): readonly Column<Row>[] => columns.filter(({ key }) => isEmpty[key] !== true);

export const NoValue = () => (
  <span class="muted" aria-hidden="true">
    –
  </span>
);
