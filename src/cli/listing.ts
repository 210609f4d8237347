/** Defines what a list command shows of its entity. */
import type { Colors } from '../terminal/colors.ts';
import { formatTable, type Row } from '../terminal/table.ts';

/** `idOf` identifies an actor. `steadyOf` is the part whose change counts as one: clocks always run. */
export type Listing<View> = {
  readonly entity: 'worker' | 'task' | 'queue' | 'escalation';
  readonly headings: readonly string[];
  /** The most important headings, for a terminal that is too narrow for all of them. */
  readonly narrowHeadings: readonly string[];
  /** `nowMs`: ages count from there; default: now. */
  readonly rowOf: (view: View, colors: Colors, nowMs?: number) => Row;
  readonly idOf: (view: View) => string;
  readonly steadyOf: (view: View) => unknown;
  /** Missing: in the service's order, that of their ids. */
  readonly order?: (a: View, b: View) => number;
  /** Missing: all that the service lists. */
  readonly keeps?: (view: View) => boolean;
  /** Returns the lines to print if the fleet has none. */
  readonly empty: (fleet: string) => string[];
};

export type Filter = Readonly<Record<string, string | undefined>>;

/** The least width for all headings: on a narrower terminal, each of nine columns would be cut to a few letters. */
const wideMin = 72;

/** A row each. `nowMs`: as `rowOf` takes it. */
export function formatListing<View>(
  { headings, narrowHeadings, rowOf }: Pick<Listing<View>, 'headings' | 'narrowHeadings' | 'rowOf'>,
  views: readonly View[],
  { colors, width, nowMs }: { readonly colors: Colors; readonly width: number; readonly nowMs?: number },
): string[] {
  const shown = width < wideMin ? narrowHeadings : headings;
  const pick = <Item>(items: readonly Item[]) => itemsUnder(headings, shown, items);
  return formatTable(
    pick(headings),
    views.map((view) => pick(rowOf(view, colors, nowMs))),
    width,
  );
}

/** Returns the items of a row whose headings are in `shown`. */
export const itemsUnder = <Item>(headings: readonly string[], shown: readonly string[], items: readonly Item[]) =>
  items.filter((_, index) => shown.includes(headings[index] ?? ''));

/** A command line to copy, with the fleet unless it is the default. */
export const spellCommand = (fleet: string, rest: string): string =>
  `  stopgate ${rest}${fleet === 'main' ? '' : ` --fleet ${fleet}`}`;
