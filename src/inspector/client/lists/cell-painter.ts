/** Lays out and paints the cells of the workers. States differ in shape as well as in colour. */
import { presences, workerStates } from '../../../../machines/values/states.ts';
import { type WorkerRow, w } from '../data/row-fields.ts';
import { stateOf } from '../ui/states.ts';
import { isUnjudged } from './urgency.ts';

/** In CSS pixels. `cell`: the side of a cell. */
export type CellLayout = {
  readonly cell: number;
  readonly perRow: number;
  readonly width: number;
  readonly height: number;
};

/** The table below must stay within reach, also on a phone. */
const heightMax = 400;
const cellSizes = [20, 16, 12, 9, 6];

/** The largest cells that fit. */
export function layoutCells(count: number, width: number): CellLayout {
  const layouts = cellSizes.map((cell) => {
    const perRow = Math.max(1, Math.floor(width / cell));
    return { cell, perRow, width, height: Math.ceil(count / perRow) * cell };
  });
  return layouts.find(({ height }) => height <= heightMax) ?? (layouts.at(-1) as CellLayout);
}

export type CellPainter = {
  /** Sizes and clears the canvas. */
  begin(): void;
  paint(index: number, row: WorkerRow | undefined): void;
  /** After a change of the colour scheme. */
  readColours(): void;
};

export function createCellPainter(context: CanvasRenderingContext2D, layout: CellLayout): CellPainter {
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
      const colour = isUnjudged(row) ? colours.unjudged : (colours.states[row[w.state]] ?? 'gray');
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
    states: workerStates.map((state) => style.getPropertyValue(`--state-${state}`)),
    unjudged: style.getPropertyValue('--unjudged'),
    background: style.getPropertyValue('--bg'),
  };
}

type Cell = { readonly x: number; readonly y: number; readonly size: number; readonly colour: string };

/** Stopped and idle are hollow, blocked has a horizontal bar, escalated a vertical one, inactive a marked corner. */
function cutShape(context: CanvasRenderingContext2D, row: WorkerRow, { x, y, size, colour }: Cell): void {
  const state = stateOf(row[w.state]);

  if (state === 'stopped' || state === 'idle') context.fillRect(x + 1, y + 1, size - 2, size - 2);
  if (state === 'idle') {
    context.fillStyle = colour;
    context.fillRect(x + size / 2 - 1, y + size / 2 - 1, 2, 2);
  }
  if (state === 'blocked') context.fillRect(x + 2, y + Math.floor(size / 2) - 1, size - 4, 2);
  if (state === 'escalated') context.fillRect(x + Math.floor(size / 2) - 1, y + 2, 2, size - 4);
  if (presences[row[w.presence]] === 'active') return;
  const corner = size > 8 ? 4 : 2;
  context.fillRect(x + size - corner, y, corner, corner);
}
