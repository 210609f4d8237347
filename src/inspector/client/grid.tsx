/** A table of any length: only the rows in sight are in the page. Arrows walk through it, Enter opens. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { go, hrefOf, place } from './place.ts';

export type Column<Row> = {
  readonly key: string;
  readonly title: string;
  /** Left out first where there is little room: 1 stays longest. */
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

const rowPx = 34;
const spare = 6;

export function Grid<Row>({ label, columns, ids, rowOf, isOpened, open }: GridProps<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [active, setActive] = useState(0);
  const wantsFocus = useRef(false);
  /** Keys may come faster than frames. */
  const current = useRef(0);
  const at = Math.min(active, Math.max(0, ids.length - 1));
  const first = Math.max(0, Math.floor(top / rowPx) - spare);
  const last = Math.min(ids.length, Math.ceil((top + height) / rowPx) + spare);

  useEffect(() => {
    const sized = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 600));
    if (box.current !== null) sized.observe(box.current);
    return () => sized.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    const row = box.current?.querySelector<HTMLElement>(`tr[data-index="${current.current}"]`);
    if (row == null) return;
    wantsFocus.current = false;
    row.focus({ preventScroll: true });
  });

  const walk = (to: number) => {
    const next = Math.max(0, Math.min(ids.length - 1, to));
    wantsFocus.current = true;
    current.current = next;
    setActive(next);
    const element = box.current;
    if (element === null) return;
    const head = rowPx;
    const room = element.clientHeight - head;
    if (next * rowPx < element.scrollTop) element.scrollTop = next * rowPx;
    else if ((next + 1) * rowPx > element.scrollTop + room) element.scrollTop = (next + 1) * rowPx - room;
    setTop(element.scrollTop);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const focused = event.target instanceof Element ? event.target.closest<HTMLElement>('tr[data-index]') : null;
    // Rows may have moved since the focus came to one of them; but a step that is still due counts from where it leads.
    const here = focused === null || wantsFocus.current ? current.current : Number(focused.dataset.index);
    const at = Math.min(here, ids.length - 1);
    const page = Math.max(1, Math.floor(height / rowPx) - 2);
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: ids.length - 1,
    }[event.key];
    const id = ids[at];
    if (to !== undefined) walk(to);
    else if (event.key === 'Enter' && focused !== null && id !== undefined) open(id);
    else return;
    event.preventDefault();
  };

  return (
    <div class="grid" ref={box} onScroll={() => setTop(box.current?.scrollTop ?? 0)}>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: HTML has no grid; its keys are above */}
      <table role="grid" aria-label={label} aria-rowcount={ids.length + 1} onKeyDown={onKeyDown}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Heading key={column.key} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <Gap rows={first} />}
          {ids.slice(first, last).map((id, index) => {
            const row = rowOf(id);
            if (row === undefined) return null;
            const place = first + index;
            const isActive = place === at;
            return <Line key={id} {...{ columns, id, row, place, isActive, isOpened, open, current, setActive }} />;
          })}
          {last < ids.length && <Gap rows={ids.length - last} />}
        </tbody>
      </table>
    </div>
  );
}

type LineProps<Row> = Pick<GridProps<Row>, 'columns' | 'isOpened' | 'open'> & {
  readonly id: string;
  readonly row: Row;
  readonly place: number;
  readonly isActive: boolean;
  readonly current: { current: number };
  readonly setActive: (place: number) => void;
};

/** Of some forty in sight few change at once: a component that reads a signal is left alone while its properties are the same. */
function Line<Row>({ columns, id, row, place, isActive, isOpened, open, current, setActive }: LineProps<Row>) {
  return (
    <tr
      data-index={place}
      data-id={id}
      aria-rowindex={place + 2}
      aria-selected={isOpened(id)}
      tabIndex={isActive ? 0 : -1}
      onFocus={() => {
        current.current = place;
        setActive(place);
      }}
      onClick={(event) => {
        if (event.target instanceof HTMLAnchorElement) return;
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
  <tr aria-hidden="true" class="gap" style={{ height: `${rows * rowPx}px` }} />
);

function Heading<Row>({ column: { key, title, rank = 1 } }: { column: Column<Row> }) {
  const { sort } = place.value;
  const direction = sort === key ? 'ascending' : sort === `-${key}` ? 'descending' : 'none';
  const next = direction === 'ascending' ? `-${key}` : direction === 'descending' ? '' : key;
  return (
    <th scope="col" aria-sort={direction} class={`c-${key} rank-${rank}`}>
      <a
        href={hrefOf({ sort: next })}
        onClick={(event) => {
          event.preventDefault();
          go({ sort: next }, 'quietly');
        }}
      >
        {title}
        <span aria-hidden="true">{direction === 'ascending' ? ' ↑' : direction === 'descending' ? ' ↓' : ''}</span>
      </a>
    </th>
  );
}
