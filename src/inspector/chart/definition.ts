/**
 * Extracts the states and transitions of a machine for a chart, including `always`, which `xstate/graph` omits. Pure.
 */
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

/** `id` is the dotted path below the root. `parent` is null for children of the root. */
export type ChartState = {
  readonly id: string;
  readonly name: string;
  readonly parent: string | null;
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final' | 'history' | 'region';
  readonly initial: boolean;
};
/** `always` is taken without an event, if its guard allows. `timer` is sent when a deadline passes. */
export type ChartTransition = {
  readonly kind: 'event' | 'always' | 'timer';
  readonly event: string;
  readonly guard: string | null;
  readonly from: string;
  /** Null if the transition changes only the context. */
  readonly to: string | null;
};
export type ChartDefinition = {
  readonly id: string;
  /** Parents before their children, siblings in the machine's order. */
  readonly states: readonly ChartState[];
  /** In evaluation order. */
  readonly transitions: readonly ChartTransition[];
  /** Events that every state handles unless it has its own transition. They change only the context. */
  readonly everywhere: readonly string[];
};

/** Events caused by the service's clock, not by agents. */
const timerEvents: ReadonlySet<string> = new Set(['timer.fired', 'presence.changed', 'stale.escalated']);
const after = 'xstate.after.';

export function chartOf(machine: AnyStateMachine): ChartDefinition {
  const { root } = machine;
  const nodes = descendants(root);
  return {
    id: machine.id,
    states: nodes.map(stateOf),
    transitions: [root, ...nodes].flatMap((node) =>
      candidates(node)
        .filter(({ target }) => node !== root || target !== undefined)
        .flatMap((transition) => transitionsOf(node, transition)),
    ),
    everywhere: [
      ...new Set(
        candidates(root)
          .filter(({ target }) => target === undefined)
          .map(({ eventType }) => eventType),
      ),
    ],
  };
}

const descendants = (node: AnyStateNode): AnyStateNode[] =>
  Object.values(node.states).flatMap((child) => [child, ...descendants(child)]);

function stateOf(node: AnyStateNode): ChartState {
  const { parent, key } = node;
  return {
    id: idOf(node),
    name: key,
    parent: parent === undefined || parent.parent === undefined ? null : idOf(parent),
    kind: parent?.type === 'parallel' ? 'region' : node.type,
    initial: parent?.type === 'compound' && parent.initial.target.includes(node),
  };
}

const idOf = (node: AnyStateNode): string => node.path.join('.');

const candidates = (node: AnyStateNode): AnyTransitionDefinition[] => [
  ...(node.always ?? []),
  ...[...node.transitions.values()].flat(),
];

function transitionsOf(node: AnyStateNode, transition: AnyTransitionDefinition): ChartTransition[] {
  const { eventType, target } = transition;
  const isAlways = node.always?.includes(transition) ?? false;
  const isDelay = eventType.startsWith(after);
  const shared = {
    kind: isAlways ? 'always' : isDelay || timerEvents.has(eventType) ? 'timer' : 'event',
    event: isAlways ? '' : isDelay ? `after ${eventType.slice(after.length).split('.')[0]}` : eventType,
    guard: guardName(transition.guard),
    from: idOf(node),
  } as const;
  return target === undefined ? [{ ...shared, to: null }] : target.map((to) => ({ ...shared, to: idOf(to) }));
}

function guardName(guard: unknown): string | null {
  if (guard === undefined) return null;
  if (typeof guard === 'string') return guard;
  const { type, name } = guard as { type?: unknown; name?: unknown };
  return String(type ?? (name || 'guard'));
}
