/** The states of an actor: on its statechart once that is laid out, and as a list. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ChartDrawing } from '../../chart/drawing.ts';
import { takenBy } from '../../chart/foreign-chart.ts';
import { activePaths, type StateNode } from '../../chart/foreign-states.ts';
import { Chart } from '../chart/chart.tsx';
import type { Actor, ReceivedEvent } from './actors.ts';
import { drawingFor } from './layout-worker.ts';
import { StateList } from './state-list.tsx';

type Props = {
  readonly actor: Actor;
  /** Of the snapshot that is shown. */
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
        <Machine {...{ actor, states, value, event }} />
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

/** Undefined: it is being laid out; null: it cannot be. */
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
