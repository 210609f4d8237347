/** A worker among its parents and sub-agents, as a tree. */
import { shownFleet } from '../data/past.ts';
import { type WorkerRow, w } from '../data/row-fields.ts';
import { selection } from '../route.ts';
import { Link } from '../ui/link.tsx';
import { StateMark } from '../ui/state-mark.tsx';
import { stateOf } from '../ui/states.ts';
import { Name } from '../ui/text.tsx';

/** More are not drawn: the list of workers has them. */
const shownMax = 60;

type Node = { readonly row: WorkerRow; readonly children: readonly Node[] };

export function Family({ id }: { id: string }) {
  const { workers, version } = shownFleet.value;
  void version.value;
  const root = treeAround(workers, id);
  if (root === null || root.children.length === 0) return null;
  return (
    <section class="family" aria-label="Parents and sub-agents">
      <ul>
        <Branch node={root} id={id} />
      </ul>
    </section>
  );
}

const Branch = ({ node: { row, children }, id }: { node: Node; id: string }) => (
  <li>
    <Link to={selection('worker', row[w.id])} aria-current={row[w.id] === id ? 'true' : undefined}>
      <Name value={row[w.id]} />
    </Link>{' '}
    <StateMark state={stateOf(row[w.state])} />
    {children.length > 0 && (
      <ul>
        {children.map((child) => (
          <Branch key={child.row[w.id]} node={child} id={id} />
        ))}
      </ul>
    )}
  </li>
);

/** From the topmost parent down. Null: the worker is unknown. */
function treeAround(workers: ReadonlyMap<string, WorkerRow>, id: string): Node | null {
  let top = workers.get(id);
  if (top === undefined) return null;
  const seen = new Set([id]);
  for (let above = workers.get(top[w.parent] ?? ''); above !== undefined && !seen.has(above[w.id]); ) {
    seen.add(above[w.id]);
    top = above;
    above = workers.get(above[w.parent] ?? '');
  }
  const children = new Map<string, WorkerRow[]>();
  for (const row of workers.values()) {
    const parent = row[w.parent];
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  const placed = new Set<string>();
  const nodeOf = (row: WorkerRow): Node => {
    placed.add(row[w.id]);
    const below = (children.get(row[w.id]) ?? []).filter((it) => !placed.has(it[w.id]) && placed.size < shownMax);
    return { row, children: below.map(nodeOf) };
  };
  return nodeOf(top);
}

/** The workers that the diagram follows besides the worker itself: its parent and its sub-agents. */
export function relativesOf(workers: ReadonlyMap<string, WorkerRow>, id: string): string[] {
  const parent = workers.get(id)?.[w.parent] ?? null;
  const below = [...workers.values()].filter((row) => row[w.parent] === id).map((row) => row[w.id]);
  return [...(parent !== null && workers.has(parent) ? [parent] : []), ...below];
}
