/**
 * One step of a machine, as its live actor takes it, on a snapshot that is only data: a fleet holds its actors as
 * snapshots, and one inert scope serves them all. That costs a quarter of a live actor's memory, and a step costs what
 * an actor's `send` costs (XState's own `transition` makes a new scope for each step).
 *
 * Most entries of a log change a context and no state. For those the chart itself says so, in a transition of the root
 * with one action and neither target nor guard, and the action is applied without walking the chart.
 */
import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  createActor,
  type EventFrom,
  type InputFrom,
  type SnapshotFrom,
} from 'xstate';

export type Stepper<M extends AnyStateMachine> = {
  readonly start: (input: InputFrom<M>) => SnapshotFrom<M>;
  readonly next: (snapshot: SnapshotFrom<M>, event: EventFrom<M>) => SnapshotFrom<M>;
};

export function createStepper<M extends AnyStateMachine>(machine: M, input: InputFrom<M>): Stepper<M> {
  const self = createActor(machine, { input } as never);
  // The machines have no effects, so nothing of this is ever called; `assign` needs none of it.
  const nothing = () => {};
  const scope: AnyActorScope = {
    ...{ self, id: self.id, sessionId: self.sessionId, system: self.system },
    ...{ logger: nothing, defer: nothing, emit: nothing, stopChild: nothing, actionExecutor: nothing },
  };
  const plans = new Map<unknown, Map<string, Plan>>();
  const planOf = (snapshot: Snapshot, type: string): Plan => {
    const key = keyOf(snapshot.value);
    const known = plans.get(key) ?? new Map<string, Plan>();
    plans.set(key, known);
    const plan = known.get(type) ?? makePlan(machine, snapshot, type);
    known.set(type, plan);
    return plan;
  };
  return {
    start: (given) => machine.getInitialSnapshot(scope, given) as SnapshotFrom<M>,
    next: (snapshot, event) => {
      const plan = planOf(snapshot as Snapshot, (event as { type: string }).type);
      if (plan === 'walk') return machine.transition(snapshot as never, event, scope) as SnapshotFrom<M>;
      if (plan === 'stay') return snapshot;
      const { context } = snapshot as Snapshot;
      return { ...(snapshot as object), context: { ...context, ...plan({ context, event }) } } as SnapshotFrom<M>;
    },
  };
}

type Snapshot = Pick<AnyMachineSnapshot, 'value' | 'context' | '_nodes'>;
/** `walk`: let XState take the step. `stay`: nothing changes. */
type Plan = 'walk' | 'stay' | ((at: { context: object; event: { type: string } }) => object);

/** A text for a state value of one machine: `working`, or the values of its regions. */
const keyOf = (value: AnyMachineSnapshot['value']): string => (typeof value === 'string' ? value : Object.values(value).join(' '));

function makePlan(machine: AnyStateMachine, { _nodes: active }: Snapshot, type: string): Plan {
  const handles = (node: AnyStateNode) => (node.transitions.get(type)?.length ?? 0) > 0 || node.transitions.has('*');
  if (active.some((node) => node !== machine.root && handles(node))) return 'walk';
  const [transition, ...more] = machine.root.transitions.get(type) ?? [];
  if (transition === undefined) return 'stay';
  const [action, ...others] = transition.actions;
  if (more.length > 0 || others.length > 0 || transition.target !== undefined || transition.guard !== undefined) return 'walk';
  if (action === undefined) return 'stay';
  const implementation: unknown = typeof action === 'string' ? machine.implementations.actions[action] : null;
  const assignment = (implementation as { assignment?: unknown } | null)?.assignment;
  return typeof assignment === 'function' ? (assignment as Exclude<Plan, string>) : 'walk';
}
