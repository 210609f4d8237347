/** Figures of the bench: quantiles, rates, and ratios to the floor of the same run. */

export type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: 'ms' | 'us' | '/s' | 'x' | 'B' | '%' | '';
  /** Distinguishes figures with the same name. */
  readonly note?: string;
  /** Missing: for information only. */
  readonly goal?: { readonly atMost?: number; readonly atLeast?: number };
};

export const figure = (name: string, value: number, unit: Figure['unit'], goal?: Figure['goal']): Figure =>
  goal === undefined ? { name, value, unit } : { name, value, unit, goal };

export const quantile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;

export function isReached({ value, goal }: Figure): boolean | null {
  if (goal === undefined) return null;
  return value <= (goal.atMost ?? Number.POSITIVE_INFINITY) && value >= (goal.atLeast ?? Number.NEGATIVE_INFINITY);
}

export function formatFigures(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { name, value, unit, goal } = figure;
    const shown =
      unit === 'ms'
        ? value.toFixed(3)
        : unit === 'x'
          ? value.toFixed(2)
          : unit === '%'
            ? value.toFixed(1)
            : Math.round(value).toLocaleString('en');
    const bound = goal === undefined ? '' : goal.atMost === undefined ? `>= ${goal.atLeast}` : `<= ${goal.atMost}`;
    const mark = { true: 'reached', false: 'MISSED', null: '' }[String(isReached(figure)) as 'true'];
    const shownNote = figure.note === undefined ? '' : `  (${figure.note})`;
    return `${name.padEnd(58)} ${`${shown} ${unit}`.padStart(14)}   ${bound.padEnd(9)} ${mark}${shownNote}`.trimEnd();
  });
  return `${rows.join('\n')}\n`;
}
