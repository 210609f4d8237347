/** Formats a table. Shortens the widest columns until it fits. */
import { clean, cut, pad, widthOf } from './text.ts';

/**
 * A column with `isWhole` is shortened last, for example an id that a person copies. One with `isNumber` is aligned on
 * the right. The first row decides for its column.
 */
export type Cell = {
  readonly text: string;
  readonly paint?: (text: string) => string;
  readonly isWhole?: boolean;
  readonly isNumber?: boolean;
};
export type Row = readonly Cell[];

/** Columns between two cells. */
export const tableGap = 2;
const columnMin = 4;
/** Other columns are shortened to this width before `isWhole` columns are. */
const othersMin = 8;
const columnMax = 60;

/** Cleans the cells. Returns no lines if there are no rows. `headings` may be empty. */
export function formatTable(headings: readonly string[], rows: readonly Row[], width: number): string[] {
  if (rows.length === 0) return [];
  const cells = rows.map((row) => row.map(({ text, paint = same }) => ({ text: clean(text), paint })));
  const all = headings.length === 0 ? cells : [headings.map((text) => ({ text, paint: same })), ...cells];
  const whole = (rows[0] ?? []).map(({ isWhole = false }) => isWhole);
  const numbers = (rows[0] ?? []).map(({ isNumber = false }) => isNumber);
  const widths = narrow(widest(all), whole, width);
  return all.map((row) => {
    const last = row.length - 1;
    const line = row.map(({ text, paint }, column) => {
      const columns = widths[column] ?? 0;
      const short = cut(text, columns);
      const fill = ' '.repeat(widthOf(pad(short, columns)) - widthOf(short));
      const shown = short === '' ? '' : paint(short);
      if (numbers[column]) return `${fill}${shown}`;
      return column === last ? shown : `${shown}${fill}`;
    });
    return line.join(' '.repeat(tableGap)).trimEnd();
  });
}

const same = (text: string): string => text;

function widest(rows: readonly { text: string }[][]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, { text }] of row.entries()) {
      widths[column] = Math.min(columnMax, Math.max(widths[column] ?? 0, widthOf(text)));
    }
  }
  return widths;
}

function narrow(widths: readonly number[], whole: readonly boolean[], width: number): number[] {
  const narrowed = [...widths];
  const total = () => narrowed.reduce((sum, each) => sum + each + tableGap, -tableGap);
  const widestOf = (columns: readonly number[]) => columns.indexOf(Math.max(...columns));
  while (total() > width) {
    const others = narrowed.map((each, column) => (whole[column] ? 0 : each));
    const column = widestOf(Math.max(...others) > othersMin ? others : narrowed);
    if ((narrowed[column] ?? 0) <= columnMin) break;
    narrowed[column] = (narrowed[column] ?? 0) - 1;
  }
  return narrowed;
}
