/** The whole fleet at a glance: names as long as there are few, else one small cell for each worker on a canvas. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { presences, workerStates } from '../../../machines/values/states.ts';
import { chosen } from './chosen.ts';
import { presenceOf, stateOf } from './marks.tsx';
import { measure } from './measure.ts';
import { shown } from './past.ts';
import { follow, go, hrefOf, place } from './place.ts';
import { type WorkerRow, w } from './rows.ts';
import { plural, visible } from './terms.ts';

const namesMax = 200;

export function Cells() {
  const { workers, version } = shown.value;
  const ids = chosen.value;
  if (ids.length > namesMax) return <CellCanvas ids={ids} />;
  void version.value;
  return (
    <ul class="chips" aria-label="Workers at a glance">
      {ids.map((id) => {
        const row = workers.get(id);
        return row === undefined ? null : <Chip key={id} row={row} />;
      })}
    </ul>
  );
}

function Chip({ row }: { row: WorkerRow }) {
  const id = row[w.name];
  const state = stateOf(row[w.state]);
  const presence = presenceOf(row[w.presence]);
  return (
    <li>
      <a
        class="chip"
        href={hrefOf({ worker: id, task: null })}
        data-state={state}
        data-presence={presence}
        aria-current={place.value.worker === id ? 'true' : undefined}
        onClick={(event) => follow(event, { worker: id, task: null })}
      >
        <i class="dot" aria-hidden="true" />
        <bdi>{visible(id)}</bdi>
        <span class="sr-only">, {presence === 'active' ? state : `${state}, ${presence}`} </span>
        {row[w.retryCount] > 0 && state !== 'stopped' && (
          <span class="tally" title="blocks in a row">
            {row[w.retryCount]}
          </span>
        )}
      </a>
    </li>
  );
}

type Layout = { readonly cell: number; readonly perRow: number; readonly width: number; readonly height: number };

/** The table below must not be out of reach, on a phone neither. */
const heightMax = 400;
const cellSizes = [20, 16, 12, 9, 6];

function layoutOf(count: number, width: number): Layout {
  const layouts = cellSizes.map((cell) => {
    const perRow = Math.max(1, Math.floor(width / cell));
    return { cell, perRow, width, height: Math.ceil(count / perRow) * cell };
  });
  return layouts.find(({ height }) => height <= heightMax) ?? (layouts.at(-1) as Layout);
}

function CellCanvas({ ids }: { ids: readonly string[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [tip, setTip] = useState<{ id: string; x: number; y: number } | null>(null);
  const store = shown.value;
  const layout = layoutOf(ids.length, width);

  useEffect(() => {
    const sized = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 0));
    if (box.current !== null) sized.observe(box.current);
    return () => sized.disconnect();
  }, []);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context == null || width === 0) return;
    const places = new Map(ids.map((id, index) => [id, index]));
    const paint = painter(context, layout);
    const all = () => {
      measure('draw', () => {
        paint.begin();
        for (const [index, id] of ids.entries()) paint.cell(index, store.workers.get(id));
      });
      store.dirty.clear();
    };
    let frame = requestAnimationFrame(all);
    const unwatch = store.version.subscribe(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() =>
        measure('draw', () => {
          for (const id of store.dirty) {
            const index = places.get(id);
            if (index !== undefined) paint.cell(index, store.workers.get(id));
          }
          store.dirty.clear();
        }),
      );
    });
    // The first call of the subscription came at once: everything is drawn first.
    cancelAnimationFrame(frame);
    all();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const repaint = () => {
      paint.colours();
      all();
    };
    dark.addEventListener('change', repaint);
    return () => {
      cancelAnimationFrame(frame);
      unwatch();
      dark.removeEventListener('change', repaint);
    };
  }, [ids, width, store]);

  const find = (event: MouseEvent): string | undefined => {
    const x = Math.floor(event.offsetX / layout.cell);
    return x >= layout.perRow ? undefined : ids[Math.floor(event.offsetY / layout.cell) * layout.perRow + x];
  };
  const row = tip === null ? undefined : store.workers.get(tip.id);
  return (
    <div class="cells" ref={box}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${plural(ids.length, 'worker')}, a cell each, in the order of the table below`}
        style={{ width: `${width}px`, height: `${layout.height}px` }}
        onClick={(event) => {
          const id = find(event);
          if (id !== undefined) go({ worker: id, task: null });
        }}
        onMouseMove={(event) => {
          const id = find(event);
          setTip(id === undefined ? null : { id, x: event.offsetX, y: event.offsetY });
        }}
        onMouseLeave={() => setTip(null)}
      />
      {tip !== null && row !== undefined && (
        <div class="tip" style={{ left: `${Math.min(tip.x, width - 180)}px`, top: `${tip.y + 18}px` }}>
          <b>{tip.id}</b> {stateOf(row[w.state])}
          {row[w.presence] === 0 ? '' : ` · ${presenceOf(row[w.presence])}`}
        </div>
      )}
    </div>
  );
}

function painter(context: CanvasRenderingContext2D, { cell, perRow, width, height }: Layout) {
  const scale = devicePixelRatio;
  const { canvas } = context;
  let colours: string[] = [];
  let ground = '';
  const corner = cell > 10 ? 4 : 2;
  const size = cell - (cell > 10 ? 2 : 1);
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    colours = workerStates.map((state) => style.getPropertyValue(`--state-${state}`));
    ground = style.getPropertyValue('--bg');
  };
  readColours();
  return {
    colours: readColours,
    begin() {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      context.scale(scale, scale);
    },
    cell(index: number, row: WorkerRow | undefined) {
      const x = (index % perRow) * cell;
      const y = Math.floor(index / perRow) * cell;
      context.clearRect(x, y, cell, cell);
      if (row === undefined) return;
      const state = row[w.state];
      context.fillStyle = colours[state] ?? 'gray';
      context.fillRect(x, y, size, size);
      // Not by colour alone: stopped is hollow, blocked has a bar, escalated a hole, who is not active a corner.
      context.fillStyle = ground;
      const name = stateOf(state);
      if (name === 'stopped' || name === 'idle') context.fillRect(x + 1, y + 1, size - 2, size - 2);
      if (name === 'idle') {
        context.fillStyle = colours[state] ?? 'gray';
        context.fillRect(x + size / 2 - 1, y + size / 2 - 1, 2, 2);
      }
      if (name === 'blocked') context.fillRect(x + 2, y + Math.floor(size / 2) - 1, size - 4, 2);
      if (name === 'escalated') context.fillRect(x + Math.floor(size / 2) - 1, y + 2, 2, size - 4);
      if (presences[row[w.presence]] !== 'active') context.fillRect(x + size - corner, y, corner, corner);
    },
  };
}
