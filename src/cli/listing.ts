/** What a list command shows of its entity. */
import type { Colors } from '../terminal/colors.ts';
import type { Row } from '../terminal/table.ts';

/** What a list shows. `idOf` names an actor, `steadyOf` is what of it must differ to be a change (clocks run always). */
export type Listing<View> = {
  readonly entity: 'worker' | 'task' | 'queue' | 'escalation';
  readonly headings: readonly string[];
  readonly rowOf: (view: View, colors: Colors) => Row;
  readonly idOf: (view: View) => string;
  readonly steadyOf: (view: View) => unknown;
  /** Where they come from, if it is no list of the service's own. */
  readonly read?: (readAll: ReadAll) => Promise<View[]>;
  /** What to print where the fleet has none. */
  readonly empty: (fleet: string) => string[];
};

export type ReadAll = <Actor>(entity: 'worker' | 'task' | 'queue', filter: Filter) => Promise<Actor[]>;
export type Filter = Readonly<Record<string, string | undefined>>;

/** `stopgate`, with the fleet where it is not the default one: for lines that are to be copied. */
export const spellCommand = (fleet: string, rest: string): string =>
  `  stopgate ${rest}${fleet === 'main' ? '' : ` --fleet ${fleet}`}`;
