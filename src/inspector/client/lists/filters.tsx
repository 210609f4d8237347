/** The search field and selects above a table. Their values are in the route. */

import type { ComponentChildren } from 'preact';
import { navigate, route } from '../route.ts';
import { Button } from '../ui/controls.tsx';
import { count, plural } from '../ui/format.ts';
import { listedIds, newWhileHeld } from './listed-ids.ts';
import { firstRowWanted } from './virtual-rows.ts';

type Select = {
  readonly name: 'presence' | 'agent' | 'queue';
  /** The text of the option that does not filter. */
  readonly any: string;
  readonly options: readonly string[];
};
type Props = {
  readonly total: number;
  readonly noun: string;
  readonly selects: readonly Select[];
  /** Buttons at the end. */
  readonly children?: ComponentChildren;
};

export const showAll = (): void => navigate({ q: '', state: '', presence: '', agent: '', queue: '' });

export function Filters({ total, noun, selects, children }: Props) {
  const { q, state, presence, agent, queue } = route.value;
  const isFiltered = [q, state, presence, agent, queue].some((value) => value !== '');
  return (
    <search class="row filters">
      <SearchField noun={noun} />
      {selects.map((select) => (
        <SelectField key={select.name} select={select} />
      ))}
      <span class="muted shown">
        {isFiltered ? `${count(listedIds.value.length)} of ${plural(total, noun)}` : plural(total, noun)}
      </span>
      {newWhileHeld.value !== null && (
        <span class="tag">
          {newWhileHeld.value > 0 && `${count(newWhileHeld.value)} new; `}the order is fixed while you point
        </span>
      )}
      {isFiltered && listedIds.value.length > 0 && (
        <Button class="link" onClick={showAll}>
          Show all
        </Button>
      )}
      {children}
    </search>
  );
}

export function SearchField({ noun }: { noun: string }) {
  const { q } = route.value;
  return (
    <input
      type="search"
      aria-label={`Search ${noun}s`}
      placeholder={`Search ${noun}s   /`}
      value={q}
      onInput={(event) => navigate({ q: event.currentTarget.value }, 'replace')}
      onKeyDown={(event) => {
        if (event.isComposing) return;
        if (event.key === 'ArrowDown') firstRowWanted.value = 'focus';
        else if (event.key === 'Enter') firstRowWanted.value = 'open';
        else if (event.key === 'Escape' && q !== '') navigate({ q: '' }, 'replace');
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}

/** Hidden if there is no choice. A value from the address is offered even if no row has it. */
function SelectField({ select: { name, any, options } }: { select: Select }) {
  const value = route.value[name];
  if (options.length < 2 && value === '') return null;
  return (
    <select aria-label={name} value={value} onChange={(event) => navigate({ [name]: event.currentTarget.value })}>
      <option value="">{any}</option>
      {[...new Set([...options, ...(value === '' ? [] : [value])])].map((choice) => (
        <option key={choice} value={choice}>
          {choice}
        </option>
      ))}
    </select>
  );
}

const valuesMax = 100;

/** The values of a column, for the options of a select. */
export function valuesOf<Row>(rows: Iterable<Row>, field: keyof Row): string[] {
  const found = new Set<string>();
  for (const row of rows) {
    const value = row[field];
    if (typeof value === 'string') found.add(value);
    if (found.size >= valuesMax) break;
  }
  return [...found].sort();
}
