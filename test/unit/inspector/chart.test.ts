/** The layouts of the charts show every transition of the machines, without overlaps. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createMachine } from 'xstate';
import { presences, taskMachine, workerMachine, workerStates } from '../../../machines/index.ts';
import { chartOf } from '../../../src/inspector/chart/definition.ts';
import { type Area, type ChartDrawing, drawOutline } from '../../../src/inspector/chart/drawing.ts';
import { drawingOf, outlineOf } from '../../../src/inspector/chart/layout.ts';
import { edgeTaken, reasonTaken } from '../../../src/inspector/chart/taken.ts';
import { placeTimes } from '../../../src/inspector/chart/times.ts';

const machines = { worker: workerMachine, task: taskMachine } as const;
type Name = keyof typeof machines;
const drawings = {} as Record<Name, ChartDrawing>;
const outlines = {} as Record<Name, ChartDrawing>;
beforeAll(async () => {
  for (const name of ['worker', 'task'] as const) {
    drawings[name] = await drawingOf(machines[name]);
    outlines[name] = drawOutline(drawings[name], await outlineOf(drawings[name]));
  }
});

type Config = { on?: object; always?: object[]; states?: Record<string, Config> };
/** Counts in the machine's configuration, independently of XState's interpretation. */
const countOf = ({ on = {}, always = [], states = {} }: Config): number =>
  Object.values(on).reduce((sum, transitions) => sum + (Array.isArray(transitions) ? transitions.length : 1), 0) +
  always.length +
  Object.values(states).reduce((sum, state) => sum + countOf(state), 0);

describe.each(['worker', 'task'] as const)('the chart of a %s', (name) => {
  test('has every transition of its machine', () => {
    const { edges, everywhere } = drawings[name];
    const config = machines[name].config as object as Config;
    const { on = {} } = config;
    expect(everywhere.lines).toEqual(Object.keys(on));
    expect(edges.flatMap(({ transitions }) => transitions)).toHaveLength(countOf(config) - countOf({ on }));
    for (const { transitions, label } of edges) {
      const text = label.lines.map((line) => line.trim()).join(' ');
      for (const { event, guard } of transitions) {
        expect(text).toContain(event);
        expect(text).toContain(guard ?? '');
      }
    }
  });

  test('has no overlapping boxes, except for those inside others', () => {
    const { boxes } = drawings[name];
    const holds = (outer: string, inner: string) => inner.startsWith(`${outer}.`);
    for (const [one, other] of pairs(boxes)) {
      if (holds(one.id, other.id) || holds(other.id, one.id)) continue;
      expect(overlap(one, other), `${one.id} on ${other.id}`).toBe(false);
    }
    for (const box of boxes)
      if (box.parent !== null)
        expect(
          contains(
            boxes.find(({ id }) => id === box.parent),
            box,
          ),
          box.id,
        ).toBe(true);
  });

  test('has labels that overlap no state, no other label and no line of another edge', () => {
    const { boxes, edges, everywhere, width, height } = drawings[name];
    const states = boxes.filter(({ id }) => !boxes.some(({ parent }) => parent === id));
    for (const { id, from, points, label } of edges) {
      expect(contains({ x: 0, y: 0, width, height }, label), id).toBe(true);
      if (points.length === 0)
        expect(
          contains(
            states.find((state) => state.id === from),
            label,
          ),
          id,
        ).toBe(true);
      else for (const state of states) expect(overlap(label, state), `${id} on ${state.id}`).toBe(false);
      for (const other of edges)
        for (const line of segments(other.points))
          if (other.id !== id) expect(overlap(label, line), `${other.id} through ${id}`).toBe(false);
    }
    for (const [one, other] of pairs(edges))
      expect(overlap(one.label, other.label), `${one.id} on ${other.id}`).toBe(false);
    for (const part of [...states, ...edges.map(({ label }) => label)]) expect(overlap(part, everywhere)).toBe(false);
  });

  test('has lines that lead from state to state, around all others', () => {
    const { boxes, edges } = drawings[name];
    const states = boxes.filter(({ id }) => !boxes.some(({ parent }) => parent === id));
    for (const { id, points } of edges)
      for (const line of segments(points))
        for (const state of states) expect(overlap(line, shrunk(state)), `${id} through ${state.id}`).toBe(false);
    for (const { id, from, to, points } of edges) {
      if (points.length === 0) continue;
      const areaOf = (state: string | null) => grown(states.find((box) => box.id === state));
      expect(contains(areaOf(from), dot(points[0])), id).toBe(true);
      expect(contains(areaOf(to), dot(points.at(-1))), id).toBe(true);
    }
  });

  test('places a number on each edge of its outline, off the states and other numbers', () => {
    const outline = outlines[name];
    const drawn = outline.edges.filter(({ points }) => points.length > 1).map(({ id }) => id);
    const states = outline.boxes.filter(({ kind }) => kind !== 'region');
    const roomAt = ([x, y]: readonly [number, number]) => ({ x: x - 12, y: y - 8, width: 24, height: 16 });
    // As many as a busy fleet takes within ten minutes.
    const places = [...placeTimes(outline, new Set(drawn.slice(0, 8)))];
    expect(places).toHaveLength(8);
    for (const [id, area] of places)
      for (const state of states) expect(overlap(roomAt(area), state), `${id} on ${state.id}`).toBe(false);
    for (const [[one, area], [other, place]] of pairs(places))
      expect(overlap(roomAt(area), roomAt(place)), `${one} on ${other}`).toBe(false);
  });

  test('has a smaller outline with the same states and edges, with lines around the states', () => {
    const drawing = drawings[name];
    const outline = outlines[name];
    const idsOf = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id);
    expect([idsOf(outline.boxes), idsOf(outline.edges)]).toEqual([idsOf(drawing.boxes), idsOf(drawing.edges)]);
    expect(outline.width * outline.height).toBeLessThan((drawing.width * drawing.height) / 4);
    const states = outline.boxes.filter(({ id }) => !outline.boxes.some(({ parent }) => parent === id));
    for (const [one, other] of pairs(states)) expect(overlap(one, other), `${one.id} on ${other.id}`).toBe(false);
    for (const [index, { id, points }] of outline.edges.entries()) {
      expect(points.length > 0, id).toBe((drawing.edges[index]?.points.length ?? 0) > 0);
      for (const line of segments(points))
        for (const state of states) expect(overlap(line, shrunk(state)), `${id} through ${state.id}`).toBe(false);
    }
  });
});

test('a drawing of the same machine is the same every time', async () => {
  expect(await drawingOf(taskMachine)).toEqual(drawings.task);
});

test('lists states in the order of the counts', () => {
  const atomic = (drawing: ChartDrawing) =>
    drawing.boxes.filter(({ kind }) => kind === 'atomic').map((box) => box.name);
  const final = (drawing: ChartDrawing) => drawing.boxes.filter(({ kind }) => kind !== 'region').map((box) => box.name);
  expect(atomic(drawings.worker)).toEqual([...workerStates, ...presences]);
  expect(final(drawings.task)).toEqual([...workerStates]);
});

test('leaves room for a count beside each name', () => {
  for (const { boxes } of Object.values(drawings))
    for (const { name, kind, width } of boxes)
      if (kind !== 'region') expect(width, name).toBeGreaterThan((name.length + ' 520000'.length) * 9);
});

test('puts each initial state above its siblings', () => {
  for (const { boxes } of Object.values(drawings))
    for (const first of boxes.filter(({ initial }) => initial))
      for (const other of boxes.filter(({ parent, id }) => parent === first.parent && id !== first.id))
        expect(first.y, other.id).toBeLessThan(other.y);
});

test('works for any machine: nested and final states, delays, anonymous guards', () => {
  const chart = chartOf(
    createMachine({
      id: 'light',
      initial: 'on',
      states: {
        on: {
          initial: 'red',
          after: { 500: 'off' },
          states: { red: { always: { guard: () => false, target: 'amber' } }, amber: {} },
        },
        off: { type: 'final' },
      },
    }),
  );
  expect(chart.states.map(({ id, kind, initial }) => [id, kind, initial])).toEqual([
    ['on', 'compound', true],
    ['on.red', 'atomic', true],
    ['on.amber', 'atomic', false],
    ['off', 'final', false],
  ]);
  expect(chart.transitions).toEqual([
    { kind: 'timer', event: 'after 500', guard: null, from: 'on', to: 'off' },
    { kind: 'always', event: '', guard: 'guard', from: 'on.red', to: 'on.amber' },
  ]);
});

describe('the edge that a transition took', () => {
  test.each([
    ['worker', 'idle', 'working', 'prompt.submitted', 'state.idle state.working'],
    ['worker', 'working', 'validating', 'stop.attempted', 'state.working state.validating'],
    // Decided at once: the machine went through `validating`.
    ['worker', 'working', 'blocked', 'stop.attempted', 'state.validating state.blocked'],
    ['worker', 'blocked', 'blocked', 'stop.attempted', 'state.validating state.blocked'],
    ['worker', 'validating', 'stopped', 'check.finished', 'state.validating state.stopped'],
    ['worker', 'validating', 'stopped', 'session.ended', 'state.validating state.stopped'],
    ['worker', 'stopped', 'stopped', 'worker.retired', 'state.stopped state.stopped'],
    ['worker', 'stopped', 'stopped', 'tool.used', 'state.stopped'],
    ['worker', 'active', 'stale', 'presence.changed', 'presence.active presence.stale'],
    ['task', 'validating', 'working', 'attempt.closed', 'validating working'],
    ['worker', 'working', 'working', 'tool.used', undefined],
    ['worker', 'nowhere', 'idle', 'prompt.submitted', undefined],
  ] as const)('%s: %s to %s by %s is %s', (name, from, to, event, id) => {
    expect(edgeTaken(drawings[name], { from, to, event })?.id).toBe(id);
  });

  test.each([
    ['worker', 'working', 'blocked', 'stop.attempted', 'hooks', '[hooks]'],
    ['worker', 'working', 'blocked', 'stop.attempted', null, '[waiting] or [checks] or [hooks] or [pending] or [idle]'],
    // The guard of an older decision.
    ['worker', 'validating', 'stopped', 'session.ended', 'checks', 'session.ended'],
    ['worker', 'active', 'stale', 'presence.changed', null, 'presence.changed [nowStale]'],
    ['task', 'validating', 'blocked', 'attempt.closed', null, 'attempt.closed [isBlocked]'],
  ] as const)('%s: why %s led to %s by %s, last decided by %s: %s', (name, from, to, event, guard, reason) => {
    const transition = { from, to, event, guard };
    const edge = edgeTaken(drawings[name], transition);
    expect(edge && reasonTaken(edge, transition)).toBe(reason);
  });
});

const pairs = <Item>(items: readonly Item[]): [Item, Item][] =>
  items.flatMap((one, index) => items.slice(index + 1).map((other): [Item, Item] => [one, other]));
const overlap = (one: Area, other: Area): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;
const contains = (outer: Area | undefined, inner: Area): boolean =>
  outer !== undefined &&
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;
const grown = (area: Area | undefined): Area | undefined =>
  area && { x: area.x - 1, y: area.y - 1, width: area.width + 2, height: area.height + 2 };
const shrunk = ({ x, y, width, height }: Area): Area => ({ x: x + 1, y: y + 1, width: width - 2, height: height - 2 });
const dot = ([x, y]: readonly [number, number] = [Number.NaN, Number.NaN]): Area => ({ x, y, width: 0, height: 0 });
const segments = (points: readonly (readonly [number, number])[]): Area[] =>
  points.slice(1).map(([x, y], index) => {
    const [fromX, fromY] = points[index] as readonly [number, number];
    return { x: Math.min(x, fromX), y: Math.min(y, fromY), width: Math.abs(x - fromX), height: Math.abs(y - fromY) };
  });
