/**
 * Takes one step of a machine on a snapshot that is plain data, exactly as XState's own `transition` does, and several
 * times faster. A fleet holds its actors as such snapshots, which take a quarter of a live actor's memory.
 *
 * XState makes the chart and defines its meaning. The step uses tables that are derived from the chart when the stepper
 * is made: where an event or an `always` may lead in each state, by which guards and with which assignments.
 * `createStepper` throws on a chart that has anything else, so a step can never differ.
 *
 * A chart may have plain states, at the root or in parallel regions; transitions by exact event type and `always`, with
 * guards by name and `assign` actions by name, to a state of the same region; an event or `always` in one region only.
 * See docs/decisions/ for the reasons, and test/unit/machines/step-property.test.ts for the proof.
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

/** The parts that differ between the snapshots of a machine; the rest of XState's would be 100 bytes for each actor. */
export type Stepped<M extends AnyStateMachine> = Pick<SnapshotFrom<M>, 'value' | 'context'>;

export type Stepper<M extends AnyStateMachine> = {
  readonly start: (input: InputFrom<M>) => Stepped<M>;
  readonly next: (snapshot: Stepped<M>, event: EventFrom<M>) => Stepped<M>;
  /** The snapshot that had this value and context. */
  readonly resume: (value: Value, context: object) => Stepped<M>;
};

type Snapshot = Pick<AnyMachineSnapshot, 'value' | 'context' | '_nodes'>;
type Value = AnyMachineSnapshot['value'];
type Event = { readonly type: string };
type Assigner = (at: At) => object;
type Move = {
  readonly passes: ((at: At) => boolean) | null;
  readonly changes: readonly Assigner[];
  /** The region (null: the root) and the state it leads to; null: no state changes. */
  readonly to: { readonly region: string | null; readonly state: string } | null;
};
/** Candidates in order: the first whose guard passes is taken. */
type Moves = readonly Move[];
/** The transitions of one state value, and a snapshot that has it. */
type Table = {
  readonly on: ReadonlyMap<string, Moves>;
  readonly always: Moves;
  readonly sample: Snapshot;
  /** The tables that moves lead to, filled as they are taken. */
  readonly after: Map<Move, Table>;
};

/** A chain of `always` that is longer has no end: XState would go on for ever. */
const chainMax = 1_000;
const none: Moves = Object.freeze([]);

/**
 * The argument of guards and assignments. There is one for each step, and its context advances with each assignment.
 */
class At {
  context: object;
  readonly event: Event;
  constructor(context: object, event: Event) {
    this.context = context;
    this.event = event;
  }
  /** @throws Error always: an actor that a step starts would be no data */
  get spawn(): never {
    throw new Error('this machine is stepped as data: an assignment cannot spawn');
  }
  /** @throws Error always: there is no live actor */
  get self(): never {
    throw new Error('this machine is stepped as data: there is no self');
  }
  /** @throws Error always, as for `self` */
  get system(): never {
    throw new Error('this machine is stepped as data: there is no system');
  }
}

/**
 * `input` makes the one actor that XState needs to resolve snapshots; it is never started.
 * @throws Error naming the state and what it has that a step could not take as XState does
 */
export function createStepper<M extends AnyStateMachine>(machine: M, input: InputFrom<M>): Stepper<M> {
  const chart = readChart(machine);
  const self = createActor(machine, { input } as never);
  const nothing = () => {};
  const scope: AnyActorScope = {
    self,
    id: self.id,
    sessionId: self.sessionId,
    system: self.system,
    logger: nothing,
    defer: nothing,
    emit: nothing,
    stopChild: nothing,
    actionExecutor: nothing,
  };
  const tables = new Map<string, Table>();
  // A snapshot that a step made has the very value of its table's sample.
  const tablesByValue = new Map<Value, Table>();
  const tableOf = (value: Value, context: object): Table => {
    const made = tablesByValue.get(value);
    if (made !== undefined) return made;
    const key = JSON.stringify(value);
    const known = tables.get(key) ?? makeTable(machine, chart, value, context);
    tables.set(key, known);
    tablesByValue.set(known.sample.value, known);
    return known;
  };
  const tableAfter = (table: Table, move: Move, context: object): Table => {
    const known = table.after.get(move);
    if (known !== undefined || move.to === null) return known ?? table;
    const { region, state } = move.to;
    const { value } = table.sample;
    const next = tableOf(region === null ? state : { ...(value as object), [region]: state }, context);
    table.after.set(move, next);
    return next;
  };

  const next = (snapshot: Stepped<M>, event: EventFrom<M>): Stepped<M> => {
    const from = snapshot as Snapshot;
    const before = tableOf(from.value, from.context);
    const at = new At(from.context, event as Event);
    let table = before;
    let move = firstOf(eventMoves(table, (event as Event).type), at);
    let isEventless = false;
    // `always` is looked at after every event, whether it was handled or not; one that changes nothing ends the chain.
    for (let turn = 0; move !== null || !isEventless; turn += 1) {
      if (turn > chainMax)
        throw new Error(`machine '${machine.id}' takes 'always' for ever after '${(event as Event).type}'`);
      const [was, held] = [table, at.context];
      if (move !== null) {
        for (const change of move.changes) at.context = merged(at.context, change(at));
        table = tableAfter(table, move, at.context);
      }
      if (isEventless && table === was && at.context === held) break;
      isEventless = true;
      move = firstOf(table.always, at);
    }
    if (table === before && at.context === from.context) return snapshot;
    return snapshotOf(table, at.context);
  };
  const newContext = machine.config.context as unknown;
  // Where a machine always begins in the same state, only the context is new; XState works out all of it each time.
  let first: Table | null = null;
  const start = (given: InputFrom<M>): Stepped<M> => {
    if (first !== null) return snapshotOf(first, (newContext as NewContext)({ input: given }));
    const snapshot = machine.getInitialSnapshot(scope, given) as Snapshot;
    const table = tableOf(snapshot.value, snapshot.context);
    const nodes = [...chart.keys()];
    const isPlain = table.always.length === 0 && nodes.every((node) => (node.initial?.actions.length ?? 0) === 0);
    if (isPlain && typeof newContext === 'function') first = table;
    return snapshotOf(table, snapshot.context);
  };
  return {
    start,
    next,
    resume: (value, context) => snapshotOf(tableOf(value, context), context),
  };
}

const snapshotOf = <M extends AnyStateMachine>({ sample: { value } }: Table, context: object): Stepped<M> =>
  ({ value, context }) as Stepped<M>;

/** @throws Error for events that XState keeps for itself */
function eventMoves(table: Table, type: string): Moves {
  const moves = table.on.get(type);
  if (moves === undefined && (type === '*' || type.startsWith('xstate.')))
    throw new Error(`'${type}' is an event of XState's own`);
  return moves ?? none;
}

/** As XState merges them. What gives every key is the new context itself: a copy would cost more than the change. */
function merged(context: object, change: object): object {
  for (const key in context) if (!(key in change)) return { ...context, ...change };
  return change;
}

function firstOf(moves: Moves, at: At): Move | null {
  for (const move of moves) if (move.passes === null || move.passes(at)) return move;
  return null;
}

type Chart = ReadonlyMap<AnyStateNode, { readonly on: ReadonlyMap<string, Moves>; readonly always: Moves }>;

function makeTable(machine: AnyStateMachine, chart: Chart, value: Value, context: object): Table {
  const sample = machine.resolveState({ value, context } as never) as Snapshot;
  const on = new Map<string, Moves>();
  let always = none;
  // States come before the root; of several regions only one has an event or `always` (see `readChart`).
  for (const node of [...sample._nodes.filter((it) => it !== machine.root), machine.root]) {
    const moves = chart.get(node);
    for (const [type, more] of moves?.on ?? []) on.set(type, [...(on.get(type) ?? none), ...more]);
    always = [...always, ...(moves?.always ?? none)];
  }
  return { on, always, sample, after: new Map() };
}

/** @throws Error for what is not listed at the top of this file */
function readChart(machine: AnyStateMachine): Chart {
  const { root } = machine;
  if (Number.isFinite(machine.options?.maxIterations)) throw refusal(root, "the option 'maxIterations'");
  const regions = root.type === 'parallel' ? Object.values(root.states) : [root];
  if (root.type !== 'parallel' && root.type !== 'compound') throw refusal(root, `a root of type ${root.type}`);
  for (const region of regions) {
    if (region.type !== 'compound') throw refusal(region, `a region of type ${region.type}`);
    if (region !== root && hasMoves(region)) throw refusal(region, 'transitions of a whole region');
    for (const state of Object.values(region.states))
      if (state.type !== 'atomic') throw refusal(state, `a state of type ${state.type}`);
  }
  const states = regions.flatMap((region) => Object.values(region.states));
  const nodes = [...new Set([root, ...regions, ...states])];
  for (const node of nodes) refuseEffects(node);
  refuseSharing(root, regions);
  const chart: Chart = new Map(
    nodes.map((node) => [
      node,
      {
        on: new Map([...node.transitions].map(([type, given]) => [type, given.map((it) => readMove(machine, it))])),
        always: (node.always ?? []).map((it) => readMove(machine, it)),
      },
    ]),
  );
  return chart;
}

const hasMoves = (node: AnyStateNode) => node.transitions.size > 0 || (node.always?.length ?? 0) > 0;

function refuseEffects(node: AnyStateNode): void {
  if (node.entry.length + node.exit.length > 0) throw refusal(node, 'entry or exit actions');
  if (node.invoke.length > 0) throw refusal(node, 'an invoked actor');
  if (node.after.length > 0) throw refusal(node, 'a delayed transition');
}

/** XState would let every region take an event of its own; here one does, so no order between them is needed. */
function refuseSharing(root: AnyStateNode, regions: readonly AnyStateNode[]): void {
  const owners = new Map<string, AnyStateNode>();
  for (const region of regions) {
    for (const state of Object.values(region.states)) {
      const types = [...state.transitions.keys(), ...((state.always?.length ?? 0) > 0 ? ['always'] : [])];
      for (const type of types) {
        const owner = owners.get(type) ?? region;
        if (owner !== region) throw refusal(state, `'${type}', which region '${owner.key}' has too`);
        owners.set(type, region);
      }
    }
  }
  if ((root.always?.length ?? 0) > 0) throw refusal(root, "'always' at the root");
}

function readMove(machine: AnyStateMachine, transition: AnyTransitionDefinition): Move {
  const { source, guard, actions, target, eventType } = transition;
  if (eventType.includes('*')) throw refusal(source, `the wildcard '${eventType}'`);
  if (eventType.startsWith('xstate.')) throw refusal(source, `a transition on '${eventType}'`);
  return {
    passes: guard === undefined ? null : readGuard(machine, source, guard),
    changes: actions.map((action) => readAssignment(machine, source, action)),
    to: target === undefined ? null : readTarget(machine, source, target),
  };
}

function readGuard(machine: AnyStateMachine, source: AnyStateNode, guard: unknown): (at: At) => boolean {
  const { type: name, params } = named(guard);
  const test = name === null ? undefined : (machine.implementations.guards[name] as unknown);
  // `and`, `not`, `stateIn` and the like carry a `check` and are no plain functions of context and event.
  if (typeof test !== 'function' || 'check' in test) throw refusal(source, `the guard '${name ?? 'inline'}'`);
  if (params === undefined) return (at) => Boolean(test(at, undefined));
  return typeof params === 'function' ? (at) => Boolean(test(at, params(at))) : (at) => Boolean(test(at, params));
}

function readAssignment(machine: AnyStateMachine, source: AnyStateNode, action: unknown): Assigner {
  const { type: name, params } = named(action);
  const implementation = name === null ? undefined : (machine.implementations.actions[name] as unknown);
  const assignment = (implementation as { readonly assignment?: unknown } | undefined)?.assignment;
  if (assignment === undefined) throw refusal(source, `the action '${name ?? 'inline'}', which is no named assign`);
  const assign = typeof assignment === 'function' ? (assignment as Assign) : byKeys(assignment as object);
  return typeof params === 'function' ? (at) => assign(at, params(at)) : (at) => assign(at, params);
}

type Assign = (at: At, params: unknown) => object;
type NewContext = (given: { readonly input: unknown }) => object;

/** `assign({ key: value or function })`. */
const byKeys =
  (given: object): Assign =>
  (at, params) =>
    Object.fromEntries(
      Object.entries(given).map(([key, value]) => [key, typeof value === 'function' ? value(at, params) : value]),
    );

/** Gives a null type for a function, and for an object without a name. */
function named(given: unknown): { readonly type: string | null; readonly params?: unknown } {
  if (typeof given === 'string') return { type: given };
  const { type, params } = given as { readonly type?: unknown; readonly params?: unknown };
  return { type: typeof given === 'object' && typeof type === 'string' ? type : null, params };
}

function readTarget(machine: AnyStateMachine, source: AnyStateNode, target: readonly AnyStateNode[]): Move['to'] {
  const [node, ...more] = target;
  if (node === undefined || more.length > 0) throw refusal(source, 'several targets');
  if (node.type !== 'atomic' || node.parent === undefined) throw refusal(source, `the target '${node.key}'`);
  // From outside its region XState would enter the other regions again.
  const { parent } = node;
  if (parent !== machine.root && parent !== source.parent)
    throw refusal(source, `the target '${node.key}' of another region`);
  return { region: parent === machine.root ? null : parent.key, state: node.key };
}

const refusal = (node: AnyStateNode, what: string): Error =>
  new Error(`machine '${node.machine.id}' cannot be stepped by tables: '${node.id}' has ${what}`);
