/**
 * The stepper against XState itself: on random charts that it accepts, every step over random events is the one that
 * `transition` takes; a chart with anything that it could not take so is refused when the stepper is made.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  and,
  assign,
  createMachine,
  enqueueActions,
  fromPromise,
  initialTransition,
  not,
  raise,
  stateIn,
  transition,
} from 'xstate';
import { createStepper, type Stepped } from '../../../machines/step.ts';

type Context = { readonly n: number; readonly seen: readonly string[] };
type Json = Record<string, unknown>;

const eventTypes = ['go', 'tool.used', 'back', 'other'];
const stateNames = ['s0', 's1', 's2', 's3'];

type Args = { readonly context: Context; readonly event: { readonly type: string; readonly k?: number } };
const implementations = {
  guards: {
    even: ({ context }: Args) => context.n % 2 === 0,
    above: ({ context }: Args, { min }: { min: number }) => context.n > min,
    asked: ({ event }: Args, params: { k: number }) => (event.k ?? 0) === params.k,
    both: and(['even', 'odd']),
    odd: not('even'),
    there: stateIn('s1'),
  },
  actions: {
    add: assign(({ context, event }: Args) => ({ n: context.n + (event.k ?? 1) })),
    see: assign(({ context, event }: Args, params: { mark: string }) => ({
      seen: [...context.seen, `${params.mark}${event.type}${context.n}`].slice(-5),
    })),
    halve: assign({ n: ({ context }: Args) => Math.trunc(context.n / 2) }),
    raiseOne: raise({ type: 'go' }),
    queue: enqueueActions(({ enqueue }) => enqueue.assign({ n: 0 })),
    log: () => {},
  },
} as never;

const guard = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  fc.constant('even'),
  fc.integer({ min: 0, max: 4 }).map((min) => ({ type: 'above', params: { min } })),
  fc.constant({ type: 'asked', params: ({ context }: Args) => ({ k: context.n % 3 }) }),
);
const action = fc.oneof(
  fc.constantFrom('add', 'halve'),
  fc.constantFrom('a', 'b').map((mark) => ({ type: 'see', params: { mark } })),
);
const move = fc
  .record({
    guard,
    actions: fc.array(action, { maxLength: 2 }),
    target: fc.option(fc.constantFrom(...stateNames), { nil: undefined }),
    reenter: fc.option(fc.constant(true), { nil: undefined }),
  })
  .map((given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));
const moves = (types: readonly string[]) =>
  fc.dictionary(fc.constantFrom(...types), fc.array(move, { minLength: 1, maxLength: 3 }), { maxKeys: 3 });

/** `always` mostly to later states: a chain that never ends is rare. */
const always = (from: number) =>
  fc.array(
    fc.tuple(move, fc.integer({ min: 0, max: 40 })).map(([it, chance]) => ({
      ...it,
      target: stateNames[chance === 0 ? 0 : Math.min(3, from + 1 + (chance % 3))],
    })),
    // None in the first state: XState has no bound for a chain without an end before the first event.
    { maxLength: from === 0 || from === 3 ? 0 : 2 },
  );
const region = (types: readonly string[], withAlways: boolean) =>
  fc
    .tuple(...stateNames.map((_, index) => fc.tuple(moves(types), withAlways ? always(index) : fc.constant([]))))
    .map((states) => ({
      initial: 's0',
      states: Object.fromEntries(
        states.map(([on, eventless], index) => [
          stateNames[index],
          eventless.length === 0 ? { on } : { on, always: eventless },
        ]),
      ),
    }));
const untargeted = (types: readonly string[]) =>
  moves(types).map((on) =>
    Object.fromEntries(Object.entries(on).map(([type, rows]) => [type, rows.map(({ target, ...rest }) => rest)])),
  );

const flat = fc.tuple(region(eventTypes, true), moves(eventTypes)).map(
  ([chart, on]): Json => ({
    ...chart,
    on: Object.fromEntries(
      Object.entries(on).map(([type, rows]) => [
        type,
        rows.map((row) => ('target' in row ? { ...row, target: `.${String(row.target)}` } : row)),
      ]),
    ),
  }),
);
const parallel = fc
  .tuple(region(['go', 'tool.used'], true), region(['back'], false), untargeted(eventTypes))
  .map(([first, second, on]): Json => ({ type: 'parallel', states: { first, second }, on }));

const events = fc.array(fc.record({ type: fc.constantFrom(...eventTypes), k: fc.integer({ min: 0, max: 3 }) }), {
  maxLength: 12,
});

const machineOf = (config: Json): AnyStateMachine =>
  createMachine({ id: 'random', context: { n: 0, seen: [] }, ...config } as never, implementations) as AnyStateMachine;
/** All that differs between two snapshots of such a chart. */
const shown = ({ value, context }: Stepped<AnyStateMachine>) => ({ value, context });

describe('a chart that is accepted', () => {
  test('steps like XState', () => {
    let steps = 0;
    fc.assert(
      fc.property(fc.oneof(flat, parallel), events, (config, given) => {
        // A bound, so that XState throws where it would go on for ever.
        const machine = machineOf({ ...config, options: { maxIterations: 1_000 } });
        const stepper = createStepper(machineOf(config), undefined as never);
        let expected: AnyMachineSnapshot = initialTransition(machine)[0];
        let actual: Stepped<AnyStateMachine> = stepper.start(undefined as never);
        expect(shown(actual)).toEqual(shown(expected));
        for (const event of given) {
          const next: AnyMachineSnapshot | typeof endless = tried(() => transition(machine, expected, event)[0]);
          const stepped: Stepped<AnyStateMachine> | typeof endless = tried(() => stepper.next(actual, event));
          if (next === endless || stepped === endless) {
            expect([next === endless, stepped === endless]).toEqual([true, true]);
            return;
          }
          [expected, actual] = [next, stepped];
          expect(shown(actual)).toEqual(shown(expected));
          steps += 1;
        }
      }),
      { numRuns: 100 },
    );
    expect(steps).toBeGreaterThan(200);
  });
});

const endless = 'endless';
/** @throws Error any other than the one for a chain of `always` without an end */
function tried<Result>(step: () => Result): Result | typeof endless {
  try {
    return step();
  } catch (error) {
    if (!/Infinite loop detected|takes 'always' for ever/.test((error as Error).message)) throw error;
    return endless;
  }
}

const plain = { initial: 's0', states: { s0: { on: { go: 's1' } }, s1: {} } };
/** Puts something into a state, beside what it has. */
const inState = (more: Json): Json => ({ ...plain, states: { ...plain.states, s1: more } });

const refusals: readonly (readonly [what: string, config: Json, says: string])[] = [
  ['a wildcard', inState({ on: { '*': { actions: 'add' } } }), "the wildcard '*'"],
  ['a partial wildcard', inState({ on: { 'tool.*': { actions: 'add' } } }), "the wildcard 'tool.*'"],
  ['an inline guard', inState({ on: { go: { guard: () => true, target: 's0' } } }), "the guard 'inline'"],
  ['and() in the chart', inState({ on: { go: { guard: and(['even']), target: 's0' } } }), "the guard 'inline'"],
  ['and() by name', inState({ on: { go: { guard: 'both', target: 's0' } } }), "the guard 'both'"],
  ['not() by name', inState({ on: { go: { guard: 'odd', target: 's0' } } }), "the guard 'odd'"],
  ['stateIn() by name', inState({ on: { go: { guard: 'there', target: 's0' } } }), "the guard 'there'"],
  ['a guard that nobody gave', inState({ on: { go: { guard: 'missing', target: 's0' } } }), "the guard 'missing'"],
  ['an inline action', inState({ on: { go: { actions: () => {} } } }), "the action 'inline'"],
  ['an inline assign', inState({ on: { go: { actions: assign({ n: 1 }) } } }), "the action 'inline'"],
  ['raise', inState({ on: { go: { actions: 'raiseOne' } } }), "the action 'raiseOne'"],
  ['enqueueActions', inState({ on: { go: { actions: 'queue' } } }), "the action 'queue'"],
  ['a side effect', inState({ on: { go: { actions: 'log' } } }), "the action 'log'"],
  ['an entry action', inState({ entry: 'add' }), 'entry or exit actions'],
  ['an exit action', inState({ exit: 'add' }), 'entry or exit actions'],
  ['an entry action of the root', { ...plain, entry: 'add' }, 'entry or exit actions'],
  ['a timer', inState({ after: { 100: 's0' } }), 'entry or exit actions'],
  ['an invoked actor', inState({ invoke: { src: fromPromise(async () => 1) } }), 'an invoked actor'],
  ['nested states', inState({ initial: 'a', states: { a: {} } }), 'a state of type compound'],
  ['parallel states within', inState({ type: 'parallel', states: { a: {}, b: {} } }), 'a state of type parallel'],
  ['a final state', inState({ type: 'final' }), 'a state of type final'],
  ['history', { ...plain, states: { ...plain.states, h: { type: 'history' } } }, 'a state of type history'],
  ['no states', {}, 'a root of type atomic'],
  ['a region without states', { type: 'parallel', states: { a: {} } }, 'a region of type atomic'],
  ['always at the root', { ...plain, always: { guard: 'even', target: '.s1' } }, "'always' at the root"],
  ['a limit on steps', { ...plain, options: { maxIterations: 1 } }, "the option 'maxIterations'"],
  [
    'several targets',
    {
      type: 'parallel',
      states: { a: plain, b: plain },
      on: { x: ['.a.s1'].map(() => ({ target: ['.a.s1', '.b.s1'] })) },
    },
    "'go', which region 'a' has too",
  ],
  [
    'targets in several regions',
    {
      type: 'parallel',
      states: { a: plain, b: { initial: 's0', states: { s0: {}, s1: {} } } },
      on: { x: { target: ['.a.s1', '.b.s1'] } },
    },
    'several targets',
  ],
  [
    'a root transition into one of several regions',
    { type: 'parallel', states: { a: plain, b: { initial: 's0', states: { s0: {} } } }, on: { x: '.a.s1' } },
    "the target 's1' of another region",
  ],
  [
    'a transition into another region',
    {
      type: 'parallel',
      states: { a: plain, b: { initial: 's0', states: { s0: { on: { x: '#random.a.s1' } } } } },
    },
    "the target 's1' of another region",
  ],
  [
    'a transition of a whole region',
    { type: 'parallel', states: { a: { ...plain, on: { x: '.s1' } } } },
    'transitions of a whole region',
  ],
];

describe('createStepper refuses charts that it could not step like XState', () => {
  test.each(refusals)('%s', (_what, config, says) => {
    const machine = machineOf(config);
    expect(() => createStepper(machine, undefined as never)).toThrow(says);
  });

  test('the chart without it is accepted', () => {
    expect(() => createStepper(machineOf(plain), undefined as never)).not.toThrow();
  });
});

test('an assignment that asks for an actor fails at its step', () => {
  const machine = createMachine({ id: 'spawns', ...inState({}), on: { x: { actions: 'start' } } } as never, {
    actions: { start: assign(({ spawn }) => ({ child: spawn(fromPromise(async () => 1)) })) },
  }) as AnyStateMachine;
  const stepper = createStepper(machine, undefined as never);
  expect(() => stepper.next(stepper.start(undefined as never), { type: 'x' })).toThrow('cannot spawn');
});
