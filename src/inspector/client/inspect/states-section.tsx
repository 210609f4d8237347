/** The states of an actor: on its statechart once that is laid out, and as a list. */
import ELK from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ChartDrawing } from '../../chart/drawing.ts';
import { activePaths, chartOfStates, type StateNode, takenBy } from '../../chart/foreign-chart.ts';
import { layOut } from '../../chart/layout.ts';
import { Chart } from '../chart/chart.tsx';
import { plural } from '../ui/format.ts';
import type { Actor, ReceivedEvent } from './actors.ts';

/** Lays out charts of foreign machines with ELK, in a worker that is loaded with the first of them. */
type Engine = Parameters<typeof layOut>[1];

let engine: Engine | null = null;
/** The drawings by machine: all actors of a machine share one. */
const drawings = new Map<string, Promise<ChartDrawing | null>>();
/** An app that makes machines as it goes forgets the oldest drawings. */
const drawingsMax = 100;

/** @returns null: it is too large, or ELK cannot lay it out */
function drawingFor(states: StateNode): Promise<ChartDrawing | null> {
  const key = JSON.stringify(states);
  const known = drawings.get(key);
  if (known !== undefined) return known;
  const drawing = draw(states);
  drawings.set(key, drawing);
  if (drawings.size > drawingsMax) drawings.delete(drawings.keys().next().value as string);
  return drawing;
}

async function draw(states: StateNode): Promise<ChartDrawing | null> {
  const chart = chartOfStates(states);
  if (chart === null) return null;
  engine ??= new (ELK as unknown as new (options: object) => Engine)({ workerFactory: () => new Worker(workerUrl) });
  return layOut(chart, engine).catch(() => null);
}

/** The states of a machine as nested lists, each with its transitions. */
type Marks = {
  readonly active: ReadonlySet<string>;
  readonly last: string | null;
  /** True if the inside of a state that is not active is folded. */
  readonly isFolded: boolean;
};

const StateList = ({ states, ...marks }: Marks & { readonly states: StateNode }) => (
  <ul class="row states">
    {states.transitions.length > 0 && <Transitions node={states} last={marks.last} name="anywhere" />}
    {states.states.map((node) => (
      <State key={node.path} node={node} {...marks} />
    ))}
  </ul>
);

function State({ node, ...marks }: Marks & { readonly node: StateNode }) {
  const { active, last, isFolded } = marks;
  const isActive = active.has(node.path);
  const inside = node.states.length > 0 && (
    <ul class="row states">
      {node.states.map((child) => (
        <State key={child.path} node={child} {...marks} />
      ))}
    </ul>
  );
  return (
    <li class="state" data-state={node.path} data-active={isActive || undefined} aria-current={isActive || undefined}>
      <span class="strong">
        {isActive ? '● ' : ''}
        <bdi>{node.name}</bdi>{' '}
        <small>{[node.initial ? 'initial' : '', node.kind ?? ''].filter(Boolean).join(', ')}</small>
      </span>
      {node.transitions.length > 0 && (
        <ul>
          <Transitions node={node} last={isActive ? last : null} />
        </ul>
      )}
      {isFolded && inside !== false ? (
        <details open={isActive}>
          <summary>{plural(node.states.length, 'state')}</summary>
          {inside}
        </details>
      ) : (
        inside
      )}
    </li>
  );
}

const Transitions = ({ node, last, name }: { node: StateNode; last: string | null; name?: string }) => (
  <>
    {node.transitions.map(({ on, guard, to }, at) => (
      <li key={at} class="transition" data-last={on === last || undefined}>
        {name === undefined ? '' : `${name}: `}
        <bdi>{on}</bdi>
        {guard === null ? '' : ` [${guard}]`}
        {to.length === 0 ? '' : ` → ${to.join(', ')}`}
      </li>
    ))}
  </>
);

type Props = {
  readonly actor: Actor;
  /** The state value of the snapshot that is shown. */
  readonly value: unknown;
  /** The event that led there; null: none is known. */
  readonly event: ReceivedEvent | null;
};

export function StatesSection({ actor, value, event }: Props) {
  const { states } = actor;
  return (
    <section aria-label="States" class="chart-section">
      <h2>States</h2>
      {states === null ? (
        <p class="muted">{value === undefined ? 'This actor is not a state machine.' : JSON.stringify(value)}</p>
      ) : (
        <Machine actor={actor} states={states} value={value} event={event} />
      )}
    </section>
  );
}

function Machine({ actor, states, value, event }: Props & { readonly states: StateNode }) {
  const drawing = useDrawing(states);
  const active = useMemo(() => activePaths(value), [value]);
  const taken = useMemo(() => {
    if (drawing === null || drawing === undefined) return null;
    // An event that changes nothing leaves the last one marked.
    for (const { number, before, after, type } of [...actor.events].reverse()) {
      if (number > (event?.number ?? 0) || after === null) continue;
      const edge = takenBy(drawing, activePaths(before?.value), activePaths(after.value), type);
      if (edge !== null) return edge.id;
    }
    return null;
  }, [drawing, active, event]);
  return (
    <>
      {drawing != null && (
        <Chart
          machine={actor.name}
          drawing={drawing}
          active={[...active]}
          taken={taken === null ? [] : [taken]}
          viewKey={actor.id}
        />
      )}
      {drawing === undefined && <p class="muted">The chart is being laid out…</p>}
      {drawing === null && <p class="muted">This machine is too large for a chart.</p>}
      <details class="as-list" open={drawing == null}>
        <summary>As a list</summary>
        <StateList states={states} active={active} last={event?.type ?? null} isFolded={drawing === null} />
      </details>
    </>
  );
}

/** Returns undefined while it is being laid out, and null if it cannot be. */
function useDrawing(states: StateNode): ChartDrawing | null | undefined {
  const [drawn, setDrawn] = useState<{ readonly states: StateNode; readonly drawing: ChartDrawing | null } | null>(
    null,
  );
  useEffect(() => {
    let isWanted = true;
    void drawingFor(states).then((drawing) => isWanted && setDrawn({ states, drawing }));
    return () => {
      isWanted = false;
    };
  }, [states]);
  return drawn?.states === states ? drawn.drawing : undefined;
}
