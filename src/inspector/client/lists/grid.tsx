/** A table of any length: only the rows in view are rendered. Arrow keys move between rows, Enter opens one. */
import type { ComponentChildren } from 'preact';
import type { FleetStore } from '../data/fleet-store.ts';
import { hrefOf, navigate, route } from '../route.ts';
import { showAll } from './filters.tsx';
import { headPx, rowPx, useRowFocus, useViewport } from './grid-focus.ts';
import { isHeld } from './listed-ids.ts';

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
  return (
    <div
      class="grid"
      ref={viewport.box}
      style={{ minHeight: `min(340px, 60vh, ${headPx() + Math.max(1, ids.length) * rowPx()}px)` }}
      onScroll={viewport.onScroll}
      onPointerMove={(event) => hold(event.pointerType === 'mouse')}
      onPointerLeave={() => hold(false)}
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
            return <Line key={id} {...{ columns, id, row, index, isActive, isOpened, open, onFocus: focus.onFocus }} />;
          })}
          {last < ids.length && <Gap rows={ids.length - last} />}
        </tbody>
      </table>
      {ids.length === 0 && (
        <p class="no-match muted" role="status">
          None fits the search and the filters.{' '}
          <button type="button" onClick={showAll}>
            Show all
          </button>
        </p>
      )}
    </div>
  );
}

/** Nothing moves under the pointer; one that rests where a notice was points at nothing. */
const hold = (isOver: boolean) => {
  isHeld.value = isOver;
};

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
