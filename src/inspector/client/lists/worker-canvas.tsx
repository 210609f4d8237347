/** One small cell for each worker, drawn on a canvas. Only cells that changed are drawn again. */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FleetStore } from '../data/fleet-store.ts';
import { shownFleet } from '../data/past.ts';
import { type WorkerRow, w } from '../data/row-fields.ts';
import { measure } from '../measure.ts';
import { navigate, selection } from '../route.ts';
import { plural } from '../ui/format.ts';
import { presenceOf, stateOf } from '../ui/states.ts';
import { type CellLayout, createCellPainter, layoutCells } from './cell-painter.ts';
import { isUnjudged } from './urgency.ts';

export function WorkerCanvas({ ids }: { ids: readonly string[] }) {
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
    <b>{row[w.id]}</b> {stateOf(row[w.state])}
    {isUnjudged(row) ? ' · not judged' : ''}
    {row[w.presence] === 0 ? '' : ` · ${presenceOf(row[w.presence])}`}
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
    // `subscribe` has called back at once; everything is painted first instead.
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
