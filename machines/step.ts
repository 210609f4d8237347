/**
 * One step of a machine on a snapshot that is only data, as XState's own `transition` would take it. A fleet holds its
 * actors as such snapshots: a quarter of a live actor's memory.
 *
 * XState makes the chart and is the measure of it; the step itself is taken here, by tables that are read off the chart
 * once for each state: what an event may lead to, by which guards and with which actions. That is possible because our
 * charts are flat (regions of plain states; guards and `assign` actions by name; no entry, exit, delay or spawn), and
 * it is several times faster. What a chart has beyond that is left to XState; a test takes both ways and compares.
 */
import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createActor,
  type EventFrom,
  type InputFrom,
  type SnapshotFrom,
} from 'xstate';

export type Stepper<M extends AnyStateMachine> = {
  readonly start: (input: InputFrom<M>) => SnapshotFrom<M>;
  readonly next: (snapshot: SnapshotFrom<M>, event: EventFrom<M>) => SnapshotFrom<M>;
  /** The same step, taken by XState. */
  readonly walk: (snapshot: SnapshotFrom<M>, event: EventFrom<M>) => SnapshotFrom<M>;
};

type Snapshot = Pick<AnyMachineSnapshot, 'value' | 'context' | '_nodes'>;
type Value = AnyMachineSnapshot['value'];
type At = { readonly context: object; readonly event: { readonly type: string } };
type Move = {
  readonly passes: ((at: At) => boolean) | null;
  readonly changes: readonly ((at: At) => object)[];
  /** The value after it; null: no state changes. */
  readonly to: ((value: Value) => Value) | null;
};
/** Candidates in order; the first whose guard passes is taken. Null: this chart is not flat here. */
type Moves = readonly Move[] | null;
/** What one state value can do: `on` by event type, `always` in its turn, and a snapshot to copy. */
type Table = { readonly on: Map<string, Moves>; readonly always: Moves; readonly sample: Snapshot };

const chainMax = 16;

export function createStepper<M extends AnyStateMachine>(machine: M, input: InputFrom<M>): Stepper<M> {
  const self = createActor(machine, { input } as never);
  // The machines have no effects, so nothing of this is ever called; `assign` needs none of it.
  const nothing = () => {};
  const scope: AnyActorScope = {
    ...{ self, id: self.id, sessionId: self.sessionId, system: self.system },
    ...{ logger: nothing, defer: nothing, emit: nothing, stopChild: nothing, actionExecutor: nothing },
  };
  const walk = (snapshot: SnapshotFrom<M>, event: EventFrom<M>) =>
    machine.transition(snapshot as never, event, scope) as SnapshotFrom<M>;
  const tables = new Map<string, Table>();
  // A snapshot that a step made has the very value of its table's sample.
  const tablesByValue = new Map<Value, Table>();
  const tableOf = (value: Value, context: object): Table => {
    const made = tablesByValue.get(value);
    if (made !== undefined) return made;
    const key = keyOf(value);
    const known = tables.get(key);
    if (known !== undefined) return known;
    const sample = machine.resolveState({ value, context } as never) as Snapshot;
    const table: Table = { on: new Map(), always: alwaysMoves(machine, sample), sample };
    tables.set(key, table);
    tablesByValue.set(sample.value, table);
    return table;
  };

  const next = (snapshot: SnapshotFrom<M>, event: EventFrom<M>): SnapshotFrom<M> => {
    const from = snapshot as Snapshot;
    const { type } = event as { type: string };
    let table = tableOf(from.value, from.context);
    let moves = table.on.get(type);
    if (moves === undefined) {
      moves = eventMoves(machine, table.sample, type);
      table.on.set(type, moves);
    }
    let { context, value } = from;
    for (let turn = 0; turn < chainMax; turn += 1) {
      if (moves === null) return walk(snapshot, event);
      const move = firstOf(moves, { context, event: event as { type: string } });
      if (move === null && turn === 0) return snapshot;
      if (move === null) break;
      for (const change of move.changes)
        context = { ...context, ...change({ context, event: event as { type: string } }) };
      if (move.to !== null) {
        value = move.to(value);
        table = tableOf(value, context);
      }
      moves = table.always;
    }
    return { ...table.sample, context } as SnapshotFrom<M>;
  };
  return { start: (given) => machine.getInitialSnapshot(scope, given) as SnapshotFrom<M>, next, walk };
}

function firstOf(moves: readonly Move[], at: At): Move | null {
  for (const move of moves) if (move.passes === null || move.passes(at)) return move;
  return null;
}

/** A text for a state value of one machine: `working`, or the states of its regions. */
function keyOf(value: Value): string {
  if (typeof value === 'string') return value;
  let key = '';
  for (const region in value) key += `${String(value[region])} `;
  return key;
}

/** States come before the root; of two regions that handle the same event neither would be first, so that is not flat. */
function eventMoves(machine: AnyStateMachine, { _nodes: active }: Snapshot, type: string): Moves {
  const handling = active.filter((node) => node !== machine.root && handles(node, type));
  if (handling.length > 1) return null;
  const [node] = handling;
  const own = node === undefined ? [] : readMoves(machine, node.transitions.get(type) ?? []);
  const root = readMoves(machine, machine.root.transitions.get(type) ?? []);
  return own === null || root === null ? null : [...own, ...root];
}

function alwaysMoves(machine: AnyStateMachine, { _nodes: active }: Snapshot): Moves {
  const handling = active.filter((node) => (node.always?.length ?? 0) > 0);
  return handling.length > 1 ? null : readMoves(machine, handling[0]?.always ?? []);
}

const handles = (node: AnyStateNode, type: string) =>
  node.transitions.has('*') || (node.transitions.get(type)?.length ?? 0) > 0;

function readMoves(machine: AnyStateMachine, transitions: readonly AnyTransitionDefinition[]): Moves {
  const moves = transitions.map((transition) => readMove(machine, transition));
  return moves.includes(null) ? null : (moves as Move[]);
}

function readMove(
  machine: AnyStateMachine,
  { guard, actions, target, eventType }: AnyTransitionDefinition,
): Move | null {
  const changes = actions.map((action) => assignmentOf(machine, action));
  const passes = guard === undefined ? null : readGuard(machine, guard);
  const to = target === undefined ? null : readTarget(machine, target);
  if (eventType === '*' || changes.includes(null) || passes === undefined || to === undefined) return null;
  return { passes, changes: changes as Move['changes'], to };
}

/** Undefined: no guard by name. */
function readGuard(machine: AnyStateMachine, guard: unknown): ((at: At) => boolean) | undefined {
  const name = typeof guard === 'string' ? guard : (guard as { type?: unknown }).type;
  const given = typeof guard === 'string' ? undefined : (guard as { params?: unknown }).params;
  const test = typeof name === 'string' ? (machine.implementations.guards[name] as unknown) : undefined;
  if (typeof test !== 'function') return undefined;
  return (at) => test(at, typeof given === 'function' ? given(at) : given) as boolean;
}

function assignmentOf(machine: AnyStateMachine, action: unknown): ((at: At) => object) | null {
  const implementation: unknown = typeof action === 'string' ? machine.implementations.actions[action] : null;
  const assignment = (implementation as { assignment?: unknown } | null)?.assignment;
  return typeof assignment === 'function' ? (assignment as (at: At) => object) : null;
}

/** Undefined: no single plain state, or states that do something at their entry or exit. */
function readTarget(machine: AnyStateMachine, target: readonly AnyStateNode[]): Move['to'] | undefined {
  const [node, ...more] = target;
  if (node === undefined || more.length > 0 || node.type !== 'atomic' || node.parent === undefined) return undefined;
  if (Object.values(node.parent.states).some(({ entry, exit }) => entry.length + exit.length > 0)) return undefined;
  const { key, parent } = node;
  if (parent === machine.root) return () => key;
  return parent.parent === machine.root ? (value) => ({ ...(value as object), [parent.key]: key }) : undefined;
}
