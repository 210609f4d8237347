/**
 * Steps a machine whose snapshot is plain data. The result equals that of XState's `transition`, several times faster.
 * A fleet holds its actors as such snapshots, which take a quarter of a live actor's memory.
 *
 * XState builds the chart and defines its meaning. `createStepper` derives tables from the chart: for each state, the
 * transitions of each event and of `always`, with their guards and assignments. It throws on a chart with any other
 * feature, so a step can never differ from XState's.
 *
 * A chart may use: plain states at the root or in parallel regions; transitions by exact event type and `always`, to a
 * state of the same region; guards and `assign` actions by name. An event or `always` may be used in one region only.
 * See docs/decisions/ for the reasons. test/unit/machines/step-property.test.ts compares the results with XState's.
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

/** The parts of a snapshot that vary. The constant parts of XState's snapshots would cost 100 bytes for each actor. */
export type Stepped<M extends AnyStateMachine> = Pick<SnapshotFrom<M>, 'value' | 'context'>;

export type Stepper<M extends AnyStateMachine> = {
  readonly start: (input: InputFrom<M>) => Stepped<M>;
  readonly next: (snapshot: Stepped<M>, event: EventFrom<M>) => Stepped<M>;
  /** Rebuilds a snapshot from its value and context. */
  readonly resume: (value: Value, context: object) => Stepped<M>;
};

type Snapshot = Pick<AnyMachineSnapshot, 'value' | 'context' | '_nodes'>;
type Value = AnyMachineSnapshot['value'];
type Event = { readonly type: string };
type Assigner = (args: StepArgs) => object;
type Move = {
  readonly passes: ((args: StepArgs) => boolean) | null;
  readonly changes: readonly Assigner[];
  /** The target region (null is the root) and state; null if the state does not change. */
  readonly to: { readonly region: string | null; readonly state: string } | null;
};
/** The first move whose guard passes is taken. */
type Moves = readonly Move[];
/** The transitions of one state value, with a sample snapshot in it. */
type Table = {
  readonly on: ReadonlyMap<string, Moves>;
  readonly always: Moves;
  readonly sample: Snapshot;
  /** The table that each move leads to, filled when the move is first taken. */
  readonly after: Map<Move, Table>;
};

/** A longer chain of `always` transitions is endless: XState would loop forever. */
const chainMax = 1_000;
const none: Moves = Object.freeze([]);

/** The argument of guards and assignments: one per step. Each assignment updates its context. */
class StepArgs {
  context: object;
  readonly event: Event;
  constructor(context: object, event: Event) {
    this.context = context;
    this.event = event;
  }
  /** @throws Error always: a spawned actor would not be plain data */
  get spawn(): never {
    throw new Error('this machine is stepped as data: an assignment cannot spawn');
  }
  /** @throws Error always: there is no live actor */
  get self(): never {
    throw new Error('this machine is stepped as data: there is no self');
  }
  /** @throws Error always: there is no live actor */
  get system(): never {
    throw new Error('this machine is stepped as data: there is no system');
  }
}

/**
 * @param input for the one actor that XState needs to resolve snapshots; it is never started
 * @throws Error naming the state and its unsupported feature
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
  // Snapshots made by a step share the value object of their table's sample.
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
    if (move.to === null) return table;
    const known = table.after.get(move);
    if (known !== undefined) return known;
    const { region, state } = move.to;
    const { value } = table.sample;
    const next = tableOf(region === null ? state : { ...(value as object), [region]: state }, context);
    table.after.set(move, next);
    return next;
  };

  const next = (snapshot: Stepped<M>, event: EventFrom<M>): Stepped<M> => {
    const from = snapshot as Snapshot;
    const before = tableOf(from.value, from.context);
    const args = new StepArgs(from.context, event as Event);
    let table = before;
    let move = firstOf(eventMoves(table, (event as Event).type), args);
    let isEventless = false;
    // `always` is evaluated after every event, handled or not, until a transition changes nothing.
    for (let turn = 0; move !== null || !isEventless; turn += 1) {
      if (turn > chainMax)
        throw new Error(`machine '${machine.id}' takes 'always' forever after '${(event as Event).type}'`);
      const tableBefore = table;
      const contextBefore = args.context;
      if (move !== null) {
        for (const change of move.changes) args.context = merged(args.context, change(args));
        table = tableAfter(table, move, args.context);
      }
      if (isEventless && table === tableBefore && args.context === contextBefore) break;
      isEventless = true;
      move = firstOf(table.always, args);
    }
    if (table === before && args.context === from.context) return snapshot;
    return snapshotOf(table, args.context);
  };
  const newContext = machine.config.context as unknown;
  // A plain machine always starts in the same state, so only the context is new. XState would compute everything again.
  let startTable: Table | null = null;
  const start = (startInput: InputFrom<M>): Stepped<M> => {
    if (startTable !== null) return snapshotOf(startTable, (newContext as NewContext)({ input: startInput }));
    const snapshot = machine.getInitialSnapshot(scope, startInput) as Snapshot;
    const table = tableOf(snapshot.value, snapshot.context);
    const nodes = [...chart.keys()];
    const isPlain = table.always.length === 0 && nodes.every((node) => (node.initial?.actions.length ?? 0) === 0);
    if (isPlain && typeof newContext === 'function') startTable = table;
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

/** @throws Error for events that XState reserves */
function eventMoves(table: Table, type: string): Moves {
  const moves = table.on.get(type);
  if (moves === undefined && (type === '*' || type.startsWith('xstate.')))
    throw new Error(`event '${type}' is reserved by XState`);
  return moves ?? none;
}

/** Merges like XState. A change that has all keys becomes the new context, which saves a copy. */
function merged(context: object, change: object): object {
  for (const key in context) if (!(key in change)) return { ...context, ...change };
  return change;
}

function firstOf(moves: Moves, args: StepArgs): Move | null {
  for (const move of moves) if (move.passes === null || move.passes(args)) return move;
  return null;
}

type Chart = ReadonlyMap<AnyStateNode, { readonly on: ReadonlyMap<string, Moves>; readonly always: Moves }>;

function makeTable(machine: AnyStateMachine, chart: Chart, value: Value, context: object): Table {
  const sample = machine.resolveState({ value, context } as never) as Snapshot;
  const on = new Map<string, Moves>();
  let always = none;
  // States take precedence over the root. Only one region handles an event or `always` (see `readChart`).
  for (const node of [...sample._nodes.filter((active) => active !== machine.root), machine.root]) {
    const moves = chart.get(node);
    for (const [type, more] of moves?.on ?? []) on.set(type, [...(on.get(type) ?? none), ...more]);
    always = [...always, ...(moves?.always ?? none)];
  }
  return { on, always, sample, after: new Map() };
}

/** @throws Error for features that are not listed at the top of this file */
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
  const movesOf = (transitions: readonly AnyTransitionDefinition[]): Moves =>
    transitions.map((transition) => readMove(machine, transition));
  return new Map(
    nodes.map((node) => {
      const on = new Map([...node.transitions].map(([type, transitions]) => [type, movesOf(transitions)]));
      return [node, { on, always: movesOf(node.always ?? []) }];
    }),
  );
}

const hasMoves = (node: AnyStateNode) => node.transitions.size > 0 || (node.always?.length ?? 0) > 0;

function refuseEffects(node: AnyStateNode): void {
  if (node.entry.length + node.exit.length > 0) throw refusal(node, 'entry or exit actions');
  if (node.invoke.length > 0) throw refusal(node, 'an invoked actor');
  if (node.after.length > 0) throw refusal(node, 'a delayed transition');
}

/** In XState every region may handle the same event. Allowing only one makes the order between regions irrelevant. */
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

function readGuard(machine: AnyStateMachine, source: AnyStateNode, guard: unknown): (args: StepArgs) => boolean {
  const { type: name, params } = named(guard);
  const test = name === null ? undefined : (machine.implementations.guards[name] as unknown);
  // `and`, `not`, `stateIn` and the like have a `check`: they are not plain functions of context and event.
  if (typeof test !== 'function' || 'check' in test) throw refusal(source, `the guard '${name ?? 'inline'}'`);
  if (params === undefined) return (args) => Boolean(test(args, undefined));
  return typeof params === 'function'
    ? (args) => Boolean(test(args, params(args)))
    : (args) => Boolean(test(args, params));
}

function readAssignment(machine: AnyStateMachine, source: AnyStateNode, action: unknown): Assigner {
  const { type: name, params } = named(action);
  const implementation = name === null ? undefined : (machine.implementations.actions[name] as unknown);
  const assignment = (implementation as { readonly assignment?: unknown } | undefined)?.assignment;
  if (assignment === undefined) throw refusal(source, `the action '${name ?? 'inline'}', which is not a named assign`);
  const assign = typeof assignment === 'function' ? (assignment as Assign) : byKeys(assignment as object);
  return typeof params === 'function' ? (args) => assign(args, params(args)) : (args) => assign(args, params);
}

type Assign = (args: StepArgs, params: unknown) => object;
type NewContext = (given: { readonly input: unknown }) => object;

/** Implements `assign({ key: value or function })`. */
const byKeys =
  (given: object): Assign =>
  (args, params) =>
    Object.fromEntries(
      Object.entries(given).map(([key, value]) => [key, typeof value === 'function' ? value(args, params) : value]),
    );

/** The type is null for inline functions and objects without a name. */
function named(given: unknown): { readonly type: string | null; readonly params?: unknown } {
  if (typeof given === 'string') return { type: given };
  const { type, params } = given as { readonly type?: unknown; readonly params?: unknown };
  return { type: typeof given === 'object' && typeof type === 'string' ? type : null, params };
}

function readTarget(machine: AnyStateMachine, source: AnyStateNode, target: readonly AnyStateNode[]): Move['to'] {
  const [node, ...more] = target;
  if (node === undefined || more.length > 0) throw refusal(source, 'several targets');
  if (node.type !== 'atomic' || node.parent === undefined) throw refusal(source, `the target '${node.key}'`);
  // A transition from outside the region would make XState re-enter the other regions.
  const { parent } = node;
  if (parent !== machine.root && parent !== source.parent)
    throw refusal(source, `the target '${node.key}' of another region`);
  return { region: parent === machine.root ? null : parent.key, state: node.key };
}

const refusal = (node: AnyStateNode, what: string): Error =>
  new Error(`machine '${node.machine.id}' cannot be stepped by tables: '${node.id}' has ${what}`);
