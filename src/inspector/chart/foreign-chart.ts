/** A foreign machine as a chart to lay out, and which of its edges an event took. Reads what it can. */
import type { ChartDefinition, ChartState, ChartTransition } from './definition.ts';
import type { ChartDrawing, ChartEdge } from './drawing.ts';

/** A foreign machine's definition as nested states, and which of them are active. Reads what it can, and never throws. */

type Transition = { readonly on: string; readonly guard: string | null; readonly to: readonly string[] };
export type StateNode = {
  /** Keys from the root, joined by dots; '' for the root itself. */
  readonly path: string;
  /** As other states may target it; null: it has none of its own. */
  readonly id: string | null;
  readonly name: string;
  readonly kind: string | null;
  readonly initial: boolean;
  readonly transitions: readonly Transition[];
  readonly states: readonly StateNode[];
};

const depthMax = 12;
const statesMax = 500;

/** @param definition JSON of a machine's configuration. @returns null: it has no states */
export function readStates(definition: string): StateNode | null {
  try {
    const config = objectOf(JSON.parse(definition));
    let left = statesMax;
    const read = (it: Fields, path: readonly string[], initial: boolean): StateNode => ({
      path: path.join('.'),
      id: typeof it.id === 'string' ? it.id : null,
      name: path.at(-1) ?? String(it.id ?? 'machine'),
      kind: typeof it.type === 'string' && it.type !== 'atomic' && it.type !== 'compound' ? it.type : null,
      initial,
      transitions: transitionsOf(it),
      // The initial state first; senders sort states by name.
      states: Object.entries(path.length < depthMax ? objectOf(it.states) : {})
        .sort(([one], [other]) => Number(other === it.initial) - Number(one === it.initial))
        .flatMap(([key, state]) => {
          left -= 1;
          return left < 0 ? [] : [read(objectOf(state), [...path, key], it.initial === key)];
        }),
    });
    const root = read(config, [], false);
    return root.states.length === 0 ? null : root;
  } catch {
    return null;
  }
}

/** The paths of all active states, from a snapshot's `value`. */
export function activePaths(value: unknown, above: readonly string[] = []): ReadonlySet<string> {
  if (typeof value === 'string') return new Set([[...above, value].join('.')]);
  if (above.length >= depthMax) return new Set();
  return new Set(
    Object.entries(objectOf(value)).flatMap(([key, inner]) => {
      const path = [...above, key];
      return [path.join('.'), ...activePaths(inner, path)];
    }),
  );
}

type Fields = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

const transitionsOf = ({ on, always, after, onDone, invoke }: Fields): Transition[] => [
  ...Object.entries(objectOf(on)).flatMap(([event, it]) => read(event, it)),
  ...read('always', always),
  ...Object.entries(objectOf(after)).flatMap(([delay, it]) => read(`after ${delay}`, it)),
  ...read('done', onDone),
  ...listOf(invoke).flatMap((it) => [
    ...read('invoked: done', objectOf(it).onDone),
    ...read('invoked: error', objectOf(it).onError),
  ]),
];

const read = (on: string, transitions: unknown): Transition[] =>
  listOf(transitions).map((it) => {
    const { target, guard } = typeof it === 'string' ? { target: it, guard: undefined } : objectOf(it);
    return { on, guard: guardName(guard), to: listOf(target).filter((name) => typeof name === 'string') };
  });

function guardName(guard: unknown): string | null {
  if (guard === undefined || guard === null) return null;
  const { type } = objectOf(guard);
  const name = typeof guard === 'string' ? guard : type;
  return typeof name === 'string' && name !== '' ? name : 'guard';
}

/** A larger chart takes seconds to lay out, and nobody can read it: it is shown as a list. */
const drawnStatesMax = 200;
const drawnTransitionsMax = 600;

/** Converts nested states to a chart. Null: there are too many. */
export function chartOfStates(root: StateNode): ChartDefinition | null {
  const nodes = descendants(root, null);
  const byPath = new Map([[root.path, root], ...nodes.map(({ node }) => [node.path, node] as const)]);
  const transitions = nodes.flatMap(({ node }) => chartTransitionsOf(root, node, byPath));
  if (nodes.length > drawnStatesMax || transitions.length > drawnTransitionsMax) return null;
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

function chartTransitionsOf(
  root: StateNode,
  node: StateNode,
  byPath: ReadonlyMap<string, StateNode>,
): ChartTransition[] {
  return node.transitions.flatMap(({ on, guard, to }): ChartTransition[] => {
    const kind = on === 'always' ? 'always' : on.startsWith('after ') ? 'timer' : 'event';
    const shared = { kind, event: kind === 'always' ? '' : on, guard, from: node.path } as const;
    const targets = to.map((target) => resolve(root, node, target, byPath)).filter((it) => it !== null);
    return targets.length === 0 ? [{ ...shared, to: null }] : targets.map((target) => ({ ...shared, to: target }));
  });
}

const withoutMark = (target: string): string => target.replace(/^[#.]/, '');

/** Resolves a target as XState does: `#id.path`, `.child`, or a sibling of the source. Null: there is no such state. */
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

/** Finds the path of an id, which may have a path below it. A state without an id has the machine's, with its path. */
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

/** Tells whether a transition on `on` answers an event of this type. */
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
