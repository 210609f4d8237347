/** A large fleet at a glance: a small cell for each worker on a canvas. */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { workerStates } from '../../../../machines/values/states.ts';
import type { FleetStore } from '../data/fleet-store.ts';
import { shownFleet } from '../data/past.ts';
import { isUnjudged, type WorkerRow } from '../data/rows.ts';
import { measure } from '../measure.ts';
import { navigate, selection } from '../route.ts';
import { plural } from '../ui/format.ts';
import { cellsMin, listedIds } from './listed-ids.ts';

/** In CSS pixels. `cell` is the side length of a cell. */
type CellLayout = {
  readonly cell: number;
  readonly perRow: number;
  readonly width: number;
  readonly height: number;
};

/** Maximum height, so that the table below stays in reach even on a phone. */
const heightMax = 400;
const cellSizes = [20, 16, 12, 9, 6];

/** Returns the layout with the largest cells that fit. */
function layoutCells(count: number, width: number): CellLayout {
  const layouts = cellSizes.map((cell) => {
    const perRow = Math.max(1, Math.floor(width / cell));
    return { cell, perRow, width, height: Math.ceil(count / perRow) * cell };
  });
  return layouts.find(({ height }) => height <= heightMax) ?? (layouts.at(-1) as CellLayout);
}

type CellPainter = {
  /** Sizes and clears the canvas. */
  begin(): void;
  paint(index: number, row: WorkerRow | undefined): void;
  /** Call this after the colour scheme has changed. */
  readColours(): void;
};

function createCellPainter(context: CanvasRenderingContext2D, layout: CellLayout): CellPainter {
  const { cell, perRow, width, height } = layout;
  const size = cell - (cell > 10 ? 2 : 1);
  let colours = coloursOfPage();
  return {
    readColours() {
      colours = coloursOfPage();
    },
    begin() {
      const scale = devicePixelRatio;
      context.canvas.width = Math.round(width * scale);
      context.canvas.height = Math.round(height * scale);
      context.scale(scale, scale);
    },
    paint(index, row) {
      const x = (index % perRow) * cell;
      const y = Math.floor(index / perRow) * cell;
      context.clearRect(x, y, cell, cell);
      if (row === undefined) return;
      const colour = isUnjudged(row) ? colours.unjudged : (colours.states.get(row.state) ?? 'gray');
      context.fillStyle = colour;
      context.fillRect(x, y, size, size);
      context.fillStyle = colours.background;
      cutShape(context, row, { x, y, size, colour });
    },
  };
}

function coloursOfPage() {
  const style = getComputedStyle(document.documentElement);
  return {
    states: new Map(workerStates.map((state) => [state, style.getPropertyValue(`--state-${state}`)])),
    unjudged: style.getPropertyValue('--unjudged'),
    background: style.getPropertyValue('--bg'),
  };
}

type Cell = { readonly x: number; readonly y: number; readonly size: number; readonly colour: string };

/**
 * Draws the shape of a state, so that states differ not only in colour: stopped and idle are hollow, blocked has a
 * horizontal bar, escalated a vertical one, and inactive workers a marked corner.
 */
function cutShape(context: CanvasRenderingContext2D, row: WorkerRow, { x, y, size, colour }: Cell): void {
  const state = row.state;

  if (state === 'stopped' || state === 'idle') context.fillRect(x + 1, y + 1, size - 2, size - 2);
  if (state === 'idle') {
    context.fillStyle = colour;
    context.fillRect(x + size / 2 - 1, y + size / 2 - 1, 2, 2);
  }
  if (state === 'blocked') context.fillRect(x + 2, y + Math.floor(size / 2) - 1, size - 4, 2);
  if (state === 'escalated') context.fillRect(x + Math.floor(size / 2) - 1, y + 2, 2, size - 4);
  if (row.presence === 'active') return;
  const corner = size > 8 ? 4 : 2;
  context.fillRect(x + size - corner, y, corner, corner);
}

/** One small cell for each worker on a canvas. Only changed cells are redrawn. */
function WorkerCanvas({ ids }: { ids: readonly string[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [tip, setTip] = useState<{ id: string; x: number; y: number } | null>(null);
  const width = useWidth(box);
  const fleet = shownFleet.value;
  const layout = layoutCells(ids.length, width);
  usePainting(canvas, ids, layout, fleet);
  const idAt = (event: MouseEvent): string | undefined => {
    const x = Math.floor(event.offsetX / layout.cell);
    return x >= layout.perRow ? undefined : ids[Math.floor(event.offsetY / layout.cell) * layout.perRow + x];
  };
  const row = tip === null ? undefined : fleet.workers.get(tip.id);
  return (
    <div class="cells" ref={box}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${plural(ids.length, 'worker')}, one cell each, in the order of the table below`}
        style={{ width: `${width}px`, height: `${layout.height}px` }}
        onClick={(event) => {
          const id = idAt(event);
          if (id !== undefined) navigate(selection('worker', id));
        }}
        onMouseMove={(event) => {
          const id = idAt(event);
          setTip(id === undefined ? null : { id, x: event.offsetX, y: event.offsetY });
        }}
        onMouseLeave={() => setTip(null)}
      />
      {tip !== null && row !== undefined && <Tip row={row} x={Math.min(tip.x, width - 180)} y={tip.y + 18} />}
    </div>
  );
}

const Tip = ({ row, x, y }: { row: WorkerRow; x: number; y: number }) => (
  <div class="tip" style={{ left: `${x}px`, top: `${y}px` }}>
    <b>{row.id}</b> {row.state}
    {isUnjudged(row) ? ' · not judged' : ''}
    {row.presence === 'active' ? '' : ` · ${row.presence}`}
  </div>
);

function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 0));
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

function usePainting(
  canvas: RefObject<HTMLCanvasElement | null>,
  ids: readonly string[],
  layout: CellLayout,
  fleet: FleetStore,
): void {
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context == null || layout.width === 0) return;
    const indexes = new Map(ids.map((id, index) => [id, index]));
    const painter = createCellPainter(context, layout);
    const paintAll = () =>
      measure('draw', () => {
        painter.begin();
        for (const [index, id] of ids.entries()) painter.paint(index, fleet.workers.get(id));
        fleet.dirty.clear();
      });
    const paintDirty = () =>
      measure('draw', () => {
        for (const id of fleet.dirty) {
          const index = indexes.get(id);
          if (index !== undefined) painter.paint(index, fleet.workers.get(id));
        }
        fleet.dirty.clear();
      });
    let frame = 0;
    const unsubscribe = fleet.version.subscribe(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(paintDirty);
    });
    // `subscribe` has already scheduled a frame, but everything must be painted first.
    cancelAnimationFrame(frame);
    paintAll();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const onScheme = () => {
      painter.readColours();
      paintAll();
    };
    dark.addEventListener('change', onScheme);
    return () => {
      cancelAnimationFrame(frame);
      unsubscribe();
      dark.removeEventListener('change', onScheme);
    };
  }, [ids, layout.width, fleet]);
}

export function Overview() {
  const ids = listedIds.value;
  return ids.length > cellsMin ? <WorkerCanvas ids={ids} /> : null;
}
