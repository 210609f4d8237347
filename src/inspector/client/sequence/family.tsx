/** A worker's parents and subagents as a tree. */
import { shownFleet } from '../data/past.ts';
import type { WorkerRow } from '../data/rows.ts';
import { selection } from '../route.ts';
import { Link } from '../ui/controls.tsx';
import { Name, StateMark } from '../ui/text.tsx';

/** Maximum number of workers in the tree. The list of workers has the rest. */
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
    <Link to={selection('worker', row.id)} aria-current={row.id === id ? 'true' : undefined}>
      <Name value={row.id} />
    </Link>{' '}
    <StateMark state={row.state} />
    {children.length > 0 && (
      <ul>
        {children.map((child) => (
          <Branch key={child.row.id} node={child} id={id} />
        ))}
      </ul>
    )}
  </li>
);

/** Builds the tree from the topmost parent down. Null if the worker is unknown. */
function treeAround(workers: ReadonlyMap<string, WorkerRow>, id: string): Node | null {
  let top = workers.get(id);
  if (top === undefined) return null;
  const seen = new Set([id]);
  for (let above = workers.get(top.parent ?? ''); above !== undefined && !seen.has(above.id); ) {
    seen.add(above.id);
    top = above;
    above = workers.get(above.parent ?? '');
  }
  const children = new Map<string, WorkerRow[]>();
  for (const row of workers.values()) {
    const parent = row.parent;
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  const placed = new Set<string>();
  const nodeOf = (row: WorkerRow): Node => {
    placed.add(row.id);
    const below = (children.get(row.id) ?? []).filter((child) => !placed.has(child.id) && placed.size < shownMax);
    return { row, children: below.map(nodeOf) };
  };
  return nodeOf(top);
}

/** Returns the worker's parent and subagents, which the diagram shows too. */
export function relativesOf(workers: ReadonlyMap<string, WorkerRow>, id: string): string[] {
  const parent = workers.get(id)?.parent ?? null;
  const below = [...workers.values()].filter((row) => row.parent === id).map((row) => row.id);
  return [...(parent !== null && workers.has(parent) ? [parent] : []), ...below];
}
