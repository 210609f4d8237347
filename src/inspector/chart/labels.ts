/** The text of an edge: its events and guards in as few lines as possible. */
import type { ChartTransition } from './definition.ts';

/**
 * One line for several short events; those with a guard follow, with the guard below them: `task.completed,
 * task.failed [holdsNoOther]`. A transition without a guard beside others with one is `[else]`.
 * @param all the transitions of the chart
 */
export function labelLines(
  edge: readonly ChartTransition[],
  all: readonly ChartTransition[],
  lineCharsMax: number,
): string[] {
  const guardsByEvent = groupBy(edge, ({ event }) => event);
  const groups = groupBy([...guardsByEvent], ([, transitions]) =>
    unique(transitions.map((it) => guardOf(it, all)))
      .filter((guard) => guard !== '')
      .join(', '),
  );
  const plain = groups.get('')?.map(([event]) => event) ?? [];
  const guarded = [...groups].filter(([guards]) => guards !== '');
  return [
    ...wrap(plain, lineCharsMax),
    ...guarded.flatMap(([guards, members]) => {
      const events = members.map(([event]) => event).filter((event) => event !== '');
      if (events.length === 0) return wrap(guards.split(', '), lineCharsMax);
      const line = `${events.join(', ')} ${guards}`;
      return line.length <= lineCharsMax ? [line] : [...wrap(events, lineCharsMax), `  ${guards}`];
    }),
  ];
}

function guardOf({ event, guard, from }: ChartTransition, all: readonly ChartTransition[]): string {
  if (guard !== null) return `[${guard}]`;
  return all.some((it) => it.from === from && it.event === event && it.guard !== null) ? '[else]' : '';
}

/** Short items share a line. */
function wrap(items: readonly string[], lineCharsMax: number): string[] {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (last === undefined || last.length + item.length + 2 > lineCharsMax) lines.push(item);
    else lines[lines.length - 1] = `${last}, ${item}`;
  }
  return lines;
}

const unique = (items: readonly string[]): string[] => [...new Set(items)];

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}
