/** A foreign machine as a chart to lay out, and which of its edges an event took. Reads what it can. */
import type { ChartDefinition, ChartState, ChartTransition } from './definition.ts';
import type { ChartDrawing, ChartEdge } from './drawing.ts';
import type { StateNode } from './foreign-states.ts';

/** Larger ones take seconds to lay out, and nobody can read them. They are shown as a list. */
const statesMax = 200;
const transitionsMax = 600;

/** Null: too large for a chart. */
export function chartOfStates(root: StateNode): ChartDefinition | null {
  const nodes = descendants(root, null);
  const byPath = new Map([[root.path, root], ...nodes.map(({ node }) => [node.path, node] as const)]);
  const transitions = nodes.flatMap(({ node }) => transitionsOf(root, node, byPath));
  if (nodes.length > statesMax || transitions.length > transitionsMax) return null;
  return {
    id: root.name,
    states: nodes.map(({ node, parent }): ChartState => {
      const kind = kindOf(node, parent);
      return { id: node.path, name: node.name, parent: parent?.path || null, kind, initial: node.initial };
    }),
    transitions,
    everywhere: [
      ...new Set(
        root.transitions.map(({ on, to }) => (to.length === 0 ? on : `${on} → ${to.map(withoutMark).join(', ')}`)),
      ),
    ],
  };
}

type Placed = { readonly node: StateNode; readonly parent: StateNode | null };

const descendants = (node: StateNode, parent: StateNode | null): Placed[] =>
  node.states.flatMap((child) => [
    { node: child, parent: parent === null ? rootless(node) : node },
    ...descendants(child, node),
  ]);

/** The root is no box of its own. */
const rootless = (node: StateNode): StateNode | null => (node.path === '' && node.kind !== 'parallel' ? null : node);

function kindOf({ kind, states }: StateNode, parent: StateNode | null): ChartState['kind'] {
  if (kind === 'final' || kind === 'history') return kind;
  if (states.length === 0) return 'atomic';
  if (parent?.kind === 'parallel') return 'region';
  return kind === 'parallel' ? 'parallel' : 'compound';
}

function transitionsOf(root: StateNode, node: StateNode, byPath: ReadonlyMap<string, StateNode>): ChartTransition[] {
  return node.transitions.flatMap(({ on, guard, to }): ChartTransition[] => {
    const kind = on === 'always' ? 'always' : on.startsWith('after ') ? 'timer' : 'event';
    const shared = { kind, event: kind === 'always' ? '' : on, guard, from: node.path } as const;
    const targets = to.map((target) => resolve(root, node, target, byPath)).filter((it) => it !== null);
    return targets.length === 0 ? [{ ...shared, to: null }] : targets.map((target) => ({ ...shared, to: target }));
  });
}

const withoutMark = (target: string): string => target.replace(/^[#.]/, '');

/** As XState resolves targets: `#id.path`, `.child`, or beside the source. Null: there is no such state. */
function resolve(
  root: StateNode,
  from: StateNode,
  target: string,
  byPath: ReadonlyMap<string, StateNode>,
): string | null {
  const parent = from.path.split('.').slice(0, -1).join('.');
  const path = target.startsWith('#')
    ? pathOfId(root, target.slice(1), byPath)
    : target.startsWith('.')
      ? `${from.path}${target}`
      : [parent, target].filter((it) => it !== '').join('.');
  return path !== null && path !== '' && byPath.has(path) ? path : null;
}

/** An id, or the first part of one with a path below it; a state without an id has that of the machine and its path. */
function pathOfId(root: StateNode, id: string, byPath: ReadonlyMap<string, StateNode>): string | null {
  for (const { path, id: own } of byPath.values()) {
    if (own === null) continue;
    if (own === id) return path;
    if (id.startsWith(`${own}.`)) return [path, id.slice(own.length + 1)].filter((it) => it !== '').join('.');
  }
  return id.startsWith(`${root.name}.`) ? id.slice(root.name.length + 1) : null;
}

/** @param before and `after`: paths of all active states. @returns null: none can be told */
export function takenBy(
  { edges }: Pick<ChartDrawing, 'edges'>,
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
  event: string,
): ChartEdge | null {
  const innermostFirst = [...edges].sort((a, b) => depthOf(b.from) - depthOf(a.from));
  const isOn = (edge: ChartEdge) => edge.transitions.some((it) => it.kind !== 'always' && answers(it.event, event));
  const leads = ({ to }: ChartEdge) => to !== null && after.has(to);
  return (
    innermostFirst.find((edge) => before.has(edge.from) && leads(edge) && isOn(edge)) ??
    // The event led to a state that was left at once.
    innermostFirst.find((edge) => !before.has(edge.to ?? '') && leads(edge) && isAlways(edge)) ??
    innermostFirst.find((edge) => before.has(edge.from) && edge.to === null && isOn(edge)) ??
    null
  );
}

const depthOf = (path: string): number => path.split('.').length;
const isAlways = ({ transitions }: ChartEdge): boolean => transitions.some(({ kind }) => kind === 'always');

/** Whether a transition on `on` answers an event of this type. */
function answers(on: string, type: string): boolean {
  if (on === type || on === '*') return true;
  if (on.endsWith('.*')) return type.startsWith(on.slice(0, -1));
  if (on.startsWith('after ')) return type.startsWith(`xstate.after.${on.slice('after '.length)}.`);
  const prefix = {
    done: 'xstate.done.state.',
    'invoked: done': 'xstate.done.actor.',
    'invoked: error': 'xstate.error.actor.',
  }[on];
  return prefix !== undefined && type.startsWith(prefix);
}
