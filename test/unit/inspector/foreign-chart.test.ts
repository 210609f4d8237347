/** Charts of foreign machines: targets as XState resolves them, and the edge that an event took. */
import { expect, test } from 'vitest';
import { createMachine, getNextSnapshot, initialTransition } from 'xstate';
import { chartOf } from '../../../src/inspector/chart/definition.ts';
import { activePaths, chartOfStates, readStates, takenBy } from '../../../src/inspector/chart/foreign-chart.ts';

const config = {
  id: 'order',
  initial: 'open',
  on: { reset: '.open', note: {} },
  states: {
    open: { on: { pay: 'paid', jump: '#order.paid.packing', 'item.*': 'open', back: '#home' } },
    paid: {
      id: 'home',
      initial: 'packing',
      on: { cancel: { target: 'closed', guard: 'mayCancel' }, skip: '.sent' },
      states: { packing: { on: { send: 'sent' }, after: { 1000: 'sent' } }, sent: { always: '#order.closed' } },
    },
    sides: {
      type: 'parallel',
      states: { left: { initial: 'a', states: { a: { on: { go: 'b' } }, b: {} } }, right: {} },
    },
    closed: { type: 'final' },
  },
} as const;

const states = readStates(JSON.stringify(config)) as NonNullable<ReturnType<typeof readStates>>;
const chart = chartOfStates(states) as NonNullable<ReturnType<typeof chartOfStates>>;
const edgesOf = ({ transitions }: Pick<typeof chart, 'transitions'>) =>
  transitions.filter(({ from }) => from !== '').map(({ event, from, to }) => `${from} ${event} ${to}`);

test('targets lead where XState leads', () => {
  const own = chartOf(createMachine(config as never));
  expect(edgesOf(chart).sort()).toEqual(edgesOf(own).sort());
  expect(chart.states.map(({ id }) => id)).toEqual(own.states.map(({ id }) => id).sort((a, b) => order(a) - order(b)));
  expect(chart.everywhere).toEqual(['reset → open', 'note']);
});
const order = (id: string) => chart.states.findIndex((it) => it.id === id);

test('tells regions, final states and where it starts', () => {
  const kindOf = (id: string) => chart.states.find((it) => it.id === id)?.kind;
  expect(['open', 'paid', 'sides', 'sides.left', 'sides.right', 'closed'].map(kindOf)).toEqual([
    'atomic',
    'compound',
    'parallel',
    'region',
    'atomic',
    'final',
  ]);
  expect(chart.states.filter(({ initial }) => initial).map(({ id }) => id)).toEqual([
    'open',
    'paid.packing',
    'sides.left.a',
  ]);
});

test('an event took the edge between the states before and after it', () => {
  const machine = createMachine(config as never, { guards: { mayCancel: () => true } });
  const drawing = { edges: grouped() };
  let [snapshot] = initialTransition(machine);
  const taken = (type: string) => {
    const before = activePaths(snapshot.value);
    snapshot = getNextSnapshot(machine, snapshot, { type });
    return takenBy(drawing, before, activePaths(snapshot.value), type)?.id ?? null;
  };
  expect(taken('item.added')).toBe('open open');
  expect(taken('jump')).toBe('open paid.packing');
  expect(taken('nothing')).toBe(null);
  // It is left at once, so only the second step is known.
  expect(taken('send')).toBe('paid.sent closed');
});

test('a machine that is too large is no chart', () => {
  const many = Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`s${at}`, {}]));
  expect(chartOfStates(readStates(JSON.stringify({ states: many })) as never)).toBe(null);
});

function grouped() {
  const ids = new Set(chart.transitions.map(({ from, to }) => `${from} ${to}`));
  return [...ids].map((id) => {
    const transitions = chart.transitions.filter(({ from, to }) => `${from} ${to}` === id);
    const [{ from, to }] = transitions as [(typeof transitions)[number]];
    return { id, from, to, transitions, points: [], label: { x: 0, y: 0, width: 0, height: 0, lines: [] } };
  });
}
